// What a container writes, in a file of bounded size: at the bound the file is set aside as
// PATH.1, in the place of the one before. Nothing is promised over a power cut. Written beside the
// loop: one write is under way, and what comes meanwhile waits in memory for the next. Belongs to
// the agent's loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/disk_queue.h"
#include "base/files/file_system.h"
#include "base/liveness.h"
#include "base/loop/loop.h"

namespace galen::agent {

class ContainerLog {
 public:
  // As the kubelet's containerLogMaxSize; with the file that was set aside a container has twice
  // this.
  static constexpr std::size_t kBytesMax = std::size_t{10} << 20;
  // Limits of a log that stands in for a termination message: Kubernetes' bounds.
  static constexpr std::size_t kTailBytesMax = 2048;
  static constexpr std::size_t kTailLinesMax = 80;
  // Output that waits for the write under way; what exceeds this is lost. As much is in that write.
  static constexpr std::size_t kWaitingBytesMax = std::size_t{256} << 10;
  // From here on the container is paused until the disk has caught up, so that a container that
  // writes faster than a healthy disk loses nothing.
  static constexpr std::size_t kHoldBytes = kWaitingBytesMax / 2;
  // But no longer than this: a disk that hangs costs lines of a log and does not stop containers.
  static constexpr Duration kHoldMax = std::chrono::seconds(1);

  // How long a disk that failed is not tried again.
  static constexpr Duration kTryAgain = std::chrono::seconds(30);

  // What it needs of the process; borrowed.
  struct Edges {
    Loop& loop;
    FileSystem& files;
    DiskQueue& disk;
  };
  // To be called on the loop, perhaps inside of Append.
  struct Events {
    // True: no more output for now; false: it may come again.
    std::function<void(bool hold)> hold = [](bool) {};
    // So many bytes are in no file, and why.
    std::function<void(std::size_t bytes, const Status& why)> lost = [](std::size_t,
                                                                        const Status&) {};
  };

  // `path`'s directory is there; the arguments outlive the log. A write under way when the log
  // is destroyed is done all the same; what waits is not written.
  ContainerLog(Edges edges, std::string path, Events events);
  ~ContainerLog();

  // A new run: what was written before is not its own, and its output is not held. The file goes
  // on.
  void BeginRun();
  // Takes the bytes for the file; touches memory only.
  void Append(std::string_view bytes);
  // The last lines of the present run, at most kTailLinesMax and kTailBytesMax, as text.
  std::string Tail() const;
  // Whether a write is under way.
  bool busy() const { return busy_; }

 private:
  class File;

  // Gives the bytes to the disk. REQUIRES: no write is under way.
  void Begin(std::string bytes);
  void End(std::size_t bytes, const Status& written);
  void Hold();
  void LetGo();

  const Edges edges_;
  const Events events_;
  // A write under way has it, and may outlive the log.
  std::unique_ptr<File> file_;
  std::string tail_;
  std::string waiting_;
  bool busy_ = false;
  bool held_ = false;
  bool hangs_ = false;  // the write under way takes longer than kHoldMax
  Timer patience_;
  Status refused_;  // by the disk, until again_
  Time again_{};
  Liveness liveness_;
};

}  // namespace galen::agent
