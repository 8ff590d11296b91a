// Which kinds a live view has lost sight of, since when and why; and when it has them back. A
// watcher reports trouble only: that it is over is known when none has come for longer than the
// watcher waits between two tries, and an ordinary question about the kind is answered again.
// Belongs to its session's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "kube/client.h"
#include "kube/request.h"

namespace galen::cli {

class WatchTrouble {
 public:
  // The watchers that report here must try again at least this often.
  static constexpr Duration kTriesAgainWithin = std::chrono::seconds(1);

  // `on_change` runs whenever Lines() may say something else.
  WatchTrouble(Loop& loop, kube::Client& client, std::function<void()> on_change)
      : loop_(loop), client_(client), on_change_(std::move(on_change)) {}

  // A watcher of `resource` in `ns` reported this. A first trouble that trying again may end is not
  // yet one: connections break, and are there again in a moment.
  void Report(const kube::Resource& resource, const std::string& ns, const Status& status);

  // A sentence for each different trouble; empty while all is live.
  std::vector<std::string> Lines() const;
  // When the first kind was lost that is lost now: what is shown is of that moment.
  std::optional<WallTime> since() const;

 private:
  struct Lost {
    std::string ns;
    Status status;
    WallTime since{};
    bool lasts = false;
    Timer look;
    std::unique_ptr<net::HttpCall> question;
  };

  std::vector<const Lost*> Lasting() const;
  void LookLater(const kube::Resource& resource);
  void Look(const kube::Resource& resource);
  void Forget(kube::Resource resource);

  Loop& loop_;
  kube::Client& client_;
  const std::function<void()> on_change_;
  std::map<kube::Resource, Lost> lost_;
};

}  // namespace galen::cli
