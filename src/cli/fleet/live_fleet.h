// The watches of a command that stays, and which of them are not live.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/random.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/session.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects/node_device_health.h"
#include "kube/objects/resource_claim.h"
#include "kube/request.h"

namespace galen::cli {

// Which kinds a live view has lost, since when and why, and when they are back. A watcher reports
// only failures: a failure is over when no report has come for longer than the watcher waits
// between two tries, and an ordinary request for the kind is answered again. Belongs to its
// session's thread.
class WatchTrouble {
 public:
  // The watchers that report here must try again at least this often.
  static constexpr Duration kTriesAgainWithin = std::chrono::seconds(1);

  // `on_change` is called whenever Lines() may have changed.
  WatchTrouble(Loop& loop, kube::Client& client, std::function<void()> on_change)
      : loop_(loop), client_(client), on_change_(std::move(on_change)) {}

  // A watcher of `resource` in `ns` reported this. A first failure that a retry may fix does not
  // count yet: connections break, and are back in a moment.
  void Report(const kube::Resource& resource, const std::string& ns, const Status& status);

  // A sentence for each different failure; empty while all is live.
  std::vector<std::string> Lines() const;
  // When the first of the kinds that are lost now was lost: the view shows that moment.
  std::optional<WallTime> since() const;

 private:
  struct Lost {
    std::string ns;
    Status status;
    std::optional<WallTime> since;  // set with the first report
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

// The fleet kept up to date by watches, for commands that stay. Belongs to its session's thread.
class LiveFleet {
 public:
  // `on_change` runs on the session's loop after anything changed; many changes of one turn are
  // one. The arguments outlive this.
  LiveFleet(Session& session, Random& random, std::function<void()> on_change);

  // Begins to list and watch; once. The watches repair themselves for as long as this lives.
  void Start();
  // Every kind's first list was read, or cannot be read: before that nothing is known of a device,
  // not even that it was never reported.
  bool synced() const;
  // `now` as for NodeLives. While the API server is away, it is the time when it was lost: silence
  // cannot be observed then.
  Fleet Join(WallTime now) const;
  // The kinds that are not live, and since when; empty and nullopt while all are.
  const WatchTrouble& trouble() const { return trouble_; }
  // What could not be considered, a sentence each.
  std::vector<std::string> notes() const;
  const kube::Informer<kube::Pod>& pods() const { return pods_; }
  const kube::Informer<Claim>& claims() const { return claims_; }

 private:
  template <typename T>
  void Follow(kube::Informer<T>& informer, const kube::Resource& resource,
              std::string_view ns = "");
  void Missed(const kube::Resource& resource, const std::string& ns, const Status& status);
  void MarkChanged();
  // The cluster has no NodeDeviceHealth, or had none at the last request.
  bool kind_missing() const;

  Loop& loop_;
  const std::function<void()> on_change_;
  bool marked_ = false;
  WatchTrouble trouble_;
  std::set<kube::Resource> done_without_;
  std::vector<std::string> notes_;
  kube::Informer<kube::Pod> pods_;
  kube::Informer<Claim> claims_;
  kube::Informer<kube::ResourceSlice> slices_;
  kube::Informer<kube::NodeDeviceHealth> healths_;
  kube::Informer<NodeReady> nodes_;
  kube::Informer<NodeLease> leases_;
  Timer turn_;
};

}  // namespace galen::cli
