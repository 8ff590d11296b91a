#include "agent/containers/container_log.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace galen::agent {

ContainerLog::ContainerLog(Loop& loop, FileSystem& files, std::string path)
    : loop_(loop), files_(files), path_(std::move(path)) {}

Status ContainerLog::Open() {
  // How far the agent before us came, or we before the disk refused: a read of all of it, and so
  // seldom.
  const StatusOr<std::string> present = files_.Read(path_);
  size_ = present.ok() ? present->size() : 0;
  ASSIGN_OR_RETURN(file_, files_.OpenAppend(path_));
  return OkStatus();
}

Status ContainerLog::Append(std::string_view bytes) {
  tail_.append(bytes);
  if (tail_.size() > kTailBytesMax) tail_.erase(0, tail_.size() - kTailBytesMax);
  if (!refused_.ok() && loop_.Now() < again_) return refused_;
  refused_ = Write(bytes);
  if (!refused_.ok()) {
    // Where the file ends is not known now: it is looked up anew.
    file_.reset();
    again_ = loop_.Now() + kTryAgain;
  }
  return refused_;
}

Status ContainerLog::Write(std::string_view bytes) {
  if (!file_) RETURN_IF_ERROR(Open());
  if (size_ > 0 && size_ + bytes.size() > kBytesMax) {
    file_.reset();
    RETURN_IF_ERROR(files_.Rename(path_, path_ + ".1"));
    RETURN_IF_ERROR(Open());
  }
  size_ += bytes.size();
  return file_->Append(bytes);
}

std::string ContainerLog::Tail() const {
  std::string_view tail = tail_;
  const std::size_t end = tail.find_last_not_of('\n');
  tail = tail.substr(0, end == std::string_view::npos ? 0 : end + 1);
  std::size_t from = tail.size();
  for (std::size_t lines = 0; lines < kTailLinesMax && from != std::string_view::npos; ++lines) {
    from = from == 0 ? std::string_view::npos : tail.rfind('\n', from - 1);
  }
  if (from != std::string_view::npos) tail = tail.substr(from + 1);
  return ToValidUtf8(tail);
}

}  // namespace galen::agent
