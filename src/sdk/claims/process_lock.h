// A lock between the processes that a driver has on one node (two in a rolling update): one at a
// time works on claims, so that none undoes what another is in the middle of. It is a lock on a
// file in the driver's directory, as Kubernetes' own helper (kubeletplugin) has it. Belongs to its
// loop; never blocks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/files/file_system.h"
#include "base/loop/loop.h"

namespace galen::sdk {

class ProcessLock {
 public:
  // How often this process tries to get the lock while another has it.
  static constexpr Duration kRetry = std::chrono::milliseconds(20);
  // How long Take waits: no shorter than the process that has the lock may wait for the API server,
  // and shorter than the 45 s after which the kubelet gives up its call.
  static constexpr Duration kPatience = std::chrono::seconds(35);

  // Ours while somebody keeps it. Shared: everything that is under way in this process holds it
  // together.
  using Hold = std::shared_ptr<const FileLock>;

  // What is lent outlives it; `path` is made, with its directory, when it is missing, and stays.
  ProcessLock(Loop& loop, FileSystem& files, std::string path);

  // Gives the lock, at once where this process has it or nobody; else later, from the loop.
  // Unavailable when another process holds it for kPatience; other errors are those of the file.
  // Nobody is answered when this goes first.
  void Take(std::function<void(StatusOr<Hold>)> done);

 private:
  struct Waiter {
    Time until;
    std::function<void(StatusOr<Hold>)> done;
  };

  // Null: another process has it.
  StatusOr<Hold> Try();
  void Look();

  Loop& loop_;
  FileSystem& files_;
  const std::string path_;
  std::weak_ptr<const FileLock> held_;
  std::deque<Waiter> waiting_;  // by time
  Timer retry_;
};

}  // namespace galen::sdk
