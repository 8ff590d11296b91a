#include "agent/containers/container_log.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace galen::agent {

// The file itself; touched by one write at a time.
class ContainerLog::File {
 public:
  File(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  Status Append(std::string_view bytes) {
    const Status written = Write(bytes);
    // The end of the file is not known after a failed write: it is looked up again.
    if (!written.ok()) file_.reset();
    return written;
  }

 private:
  Status Open() {
    // Where the file ends, after a restart or a failed write. Reads the whole file, which is rare.
    const StatusOr<std::string> present = files_.Read(path_);
    size_ = present.ok() ? present->size() : 0;
    ASSIGN_OR_RETURN(file_, files_.OpenAppend(path_));
    return OkStatus();
  }

  Status Write(std::string_view bytes) {
    if (!file_) RETURN_IF_ERROR(Open());
    if (size_ > 0 && size_ + bytes.size() > kBytesMax) {
      file_.reset();
      RETURN_IF_ERROR(files_.Rename(path_, path_ + ".1"));
      RETURN_IF_ERROR(Open());
    }
    size_ += bytes.size();
    return file_->Append(bytes);
  }

  FileSystem& files_;
  const std::string path_;
  std::unique_ptr<AppendFile> file_;
  std::size_t size_ = 0;
};

ContainerLog::ContainerLog(Edges edges, std::string path, Events events)
    : edges_(edges),
      events_(std::move(events)),
      file_(std::make_unique<File>(edges.files, std::move(path))) {}

ContainerLog::~ContainerLog() = default;

void ContainerLog::BeginRun() {
  tail_.clear();
  held_ = false;
  patience_.Cancel();
}

void ContainerLog::Append(std::string_view bytes) {
  tail_.append(bytes);
  if (tail_.size() > kTailBytesMax) tail_.erase(0, tail_.size() - kTailBytesMax);
  if (!refused_.ok() && edges_.loop.Now() < again_) return events_.lost(bytes.size(), refused_);
  if (!busy_) return Begin(std::string(bytes));
  if (waiting_.size() + bytes.size() > kWaitingBytesMax) {
    return events_.lost(bytes.size(), Unavailable("the disk hangs, or is slower than the output"));
  }
  waiting_.append(bytes);
  if (waiting_.size() > kHoldBytes) Hold();
}

void ContainerLog::Begin(std::string bytes) {
  busy_ = true;
  const std::size_t size = bytes.size();
  struct Written {
    std::unique_ptr<File> file;
    Status status;
  };
  RunFor(
      liveness_, edges_.disk,
      [file = std::move(file_), bytes = std::move(bytes)]() mutable {
        const Status status = file->Append(bytes);
        return Written{std::move(file), status};
      },
      [this, size](Written written) {
        file_ = std::move(written.file);
        End(size, written.status);
      });
}

void ContainerLog::End(std::size_t bytes, const Status& written) {
  busy_ = false;
  hangs_ = false;
  refused_ = written;
  std::string next = std::exchange(waiting_, {});
  if (!written.ok()) {
    again_ = edges_.loop.Now() + kTryAgain;
    // Output that waited for a disk that failed is dropped without another try.
    events_.lost(bytes + next.size(), written);
  } else if (!next.empty()) {
    Begin(std::move(next));
  }
  LetGo();
}

void ContainerLog::Hold() {
  if (held_ || hangs_) return;
  held_ = true;
  patience_ = edges_.loop.After(kHoldMax, [this] {
    hangs_ = true;
    LetGo();
  });
  events_.hold(true);
}

void ContainerLog::LetGo() {
  patience_.Cancel();
  if (std::exchange(held_, false)) events_.hold(false);
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
