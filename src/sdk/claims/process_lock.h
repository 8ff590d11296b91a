// A lock between the processes that a driver has on one node (two in a rolling update): only one
// works on claims at a time, so that none undoes another's unfinished work. It is a lock on a file
// in the driver's directory, as in Kubernetes' own helper (kubeletplugin). Belongs to its loop;
// never blocks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/files/file_system.h"
#include "base/liveness.h"
#include "base/loop/loop.h"
#include "base/status.h"

namespace galen::sdk {

class ProcessLock {
 public:
  // How often this process tries to get the lock while another process holds it.
  static constexpr Duration kRetry = std::chrono::milliseconds(20);
  // How long Take waits: at least as long as the other process may wait for the API server, and
  // less than the 45 s after which the kubelet gives up its call.
  static constexpr Duration kPatience = std::chrono::seconds(35);

  // The lock is held while a Hold exists, of which there may be any number: all work under way in
  // this process holds it together. A value; one that outlives its ProcessLock holds nothing.
  class Hold {
   public:
    Hold(const Hold& other);
    Hold& operator=(Hold other);
    ~Hold();

   private:
    friend class ProcessLock;
    explicit Hold(ProcessLock& lock);

    ProcessLock* lock_;
    Liveness::Watch lock_lives_;
  };

  // The arguments outlive it. The file at `path`, and its directory, are made when missing, and
  // stay.
  ProcessLock(Loop& loop, FileSystem& files, std::string path);

  // Calls `done` with the lock: at once if it is free or this process holds it; else later, from
  // the loop. Unavailable when another process holds it for kPatience; other errors are those of
  // the file. Not called if this is destroyed first.
  void Take(std::function<void(StatusOr<Hold>)> done);

 private:
  struct Waiter {
    Time until;
    std::function<void(StatusOr<Hold>)> done;
  };

  // None: another process holds it.
  StatusOr<std::optional<Hold>> Try();
  void Look();

  Loop& loop_;
  FileSystem& files_;
  const std::string path_;
  std::unique_ptr<FileLock> held_;  // while there are holds
  int holds_ = 0;
  std::deque<Waiter> waiting_;  // in order of time
  Timer retry_;
  Liveness liveness_;
};

}  // namespace galen::sdk
