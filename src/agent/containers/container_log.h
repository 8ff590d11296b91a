// What a container writes, in a file of bounded size: at the bound the file is set aside as
// PATH.1, in the place of the one before. Nothing is promised over a power cut. Belongs to the
// agent's loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/files/file_system.h"
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

  // A disk that refused is left alone for so long.
  static constexpr Duration kTryAgain = std::chrono::seconds(30);

  // `path`'s directory is there; what is lent outlives the log.
  ContainerLog(Loop& loop, FileSystem& files, std::string path);

  // A new run: what was written before is not its own. The file goes on.
  void BeginRun() { tail_.clear(); }
  // The error is that of the disk, which it stays for kTryAgain; the bytes are lost then, but for
  // the tail.
  Status Append(std::string_view bytes);
  // The last lines of the present run, at most kTailLinesMax and kTailBytesMax, as text.
  std::string Tail() const;

 private:
  Status Open();
  Status Write(std::string_view bytes);

  Loop& loop_;
  FileSystem& files_;
  const std::string path_;
  std::unique_ptr<AppendFile> file_;
  std::size_t size_ = 0;
  std::string tail_;
  Status refused_;  // by the disk, until again_
  Time again_{};
};

}  // namespace galen::agent
