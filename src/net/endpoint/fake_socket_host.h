// A node's sockets in memory: places in a FakeNetwork, named like the files they stand for. A test
// or a simulated kubelet is notified of them and can take them away. For tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/endpoint/socket_keeper.h"
#include "net/fake_link.h"

namespace galen::net {

class FakeSocketHost final : public SocketHost {
 public:
  // Both are lent.
  FakeSocketHost(Loop& loop, FakeNetwork& network) : loop_(loop), network_(network) {}

  StatusOr<std::unique_ptr<ListeningSocket>> Listen(const std::string& path,
                                                    HttpHandler& handler) override;
  StatusOr<std::unique_ptr<PlaceWatch>> Watch(const std::string& directory,
                                              std::function<void()> on_change) override;
  bool OthersListen(const std::string& directory, const std::string& own) override;
  std::optional<std::string> MarkOf(const std::string& path) override;

  // Called with each socket that comes (true) or goes (false), at once.
  using Listener = std::function<void(const std::string& path, bool there)>;
  void OnChange(Listener listener) { listener_ = std::move(listener); }
  std::set<std::string> sockets() const;

  // As when somebody removes the file: nobody new can connect, who is connected stays so until the
  // socket is destroyed, and the watch is notified. Nothing when there is none.
  void RemoveFile(const std::string& path);
  // From now on Listen (Watch) answers this; OK ends it.
  void FailListen(Status status) { fault_ = std::move(status); }
  void FailWatch(Status status) { watch_fault_ = std::move(status); }

 private:
  class Socket;
  class DirectoryWatch;

  void Notify(const std::string& path, bool there);

  Loop& loop_;
  FakeNetwork& network_;
  std::map<std::string, const Socket*> sockets_;
  std::map<std::string, int> made_;       // how often each was made
  std::vector<DirectoryWatch*> watches_;  // the oldest first: addresses differ from run to run
  Listener listener_;
  Status fault_;
  Status watch_fault_;
};

}  // namespace galen::net
