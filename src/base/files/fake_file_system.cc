#include "base/files/fake_file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files/fake_file_lock.h"
#include "base/path.h"

namespace galen {
// Writes to a file that may meanwhile be renamed or removed, as a descriptor does.
class FakeAppendFile final : public AppendFile {
 public:
  FakeAppendFile(FakeFileSystem& system, std::shared_ptr<FakeFileSystem::File> file)
      : system_(system), file_(std::move(file)) {}

  Status Append(std::string_view bytes) override {
    if (Status status = system_.StartWrite(); !status.ok()) {
      // A disk that fills up takes the first part.
      file_->bytes.append(bytes.substr(0, bytes.size() / 2));
      return status;
    }
    file_->bytes.append(bytes);
    return OkStatus();
  }

  Status Sync() override {
    // Nothing to write is nothing written, as on the kernel's disk.
    if (file_->synced == file_->bytes.size()) return OkStatus();
    RETURN_IF_ERROR(system_.StartWrite());
    file_->synced = file_->bytes.size();
    return OkStatus();
  }

 private:
  FakeFileSystem& system_;
  std::shared_ptr<FakeFileSystem::File> file_;
};

StatusOr<std::string> FakeFileSystem::Read(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end())
    return ErrnoStatus(IsDirectory(path) ? EISDIR : ENOENT, "open " + path);
  return found->second->bytes;
}

StatusOr<std::unique_ptr<AppendFile>> FakeFileSystem::OpenAppend(const std::string& path) {
  if (files_.count(path) == 0) RETURN_IF_ERROR(StartCreate(path));
  std::shared_ptr<File>& file = files_[path];
  // One that is there keeps its bytes and its handles: both then grow the same file.
  if (!file) file = std::make_shared<File>();
  return std::unique_ptr<AppendFile>(std::make_unique<FakeAppendFile>(*this, file));
}

Status FakeFileSystem::WriteAtomically(const std::string& path, std::string_view bytes, unsigned) {
  RETURN_IF_ERROR(StartCreate(path));
  // A new file under the old name: a handle that is still open goes on with the old one.
  auto file = std::make_shared<File>();
  file->bytes = bytes;
  file->synced = bytes.size();
  files_[path] = std::move(file);
  return OkStatus();
}

Status FakeFileSystem::Rename(const std::string& from, const std::string& to) {
  if (files_.count(from) == 0) return ErrnoStatus(ENOENT, fmt::format("rename {} to {}", from, to));
  RETURN_IF_ERROR(StartCreate(to));
  auto node = files_.extract(from);
  files_[to] = std::move(node.mapped());
  return OkStatus();
}

Status FakeFileSystem::Remove(const std::string& path) {
  if (IsDirectory(path)) return ErrnoStatus(EISDIR, "remove " + path);
  if (files_.count(path) == 0) return OkStatus();
  // Removing needs no room.
  if (fault_ && fault_->code() == Code::kResourceExhausted) {
    ++writes_;
  } else {
    RETURN_IF_ERROR(StartWrite());
  }
  files_.erase(path);
  return OkStatus();
}

Status FakeFileSystem::MakeDirectories(const std::string& path, unsigned) {
  if (IsDirectory(path)) return OkStatus();
  RETURN_IF_ERROR(StartWrite());
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (files_.count(part) != 0) return ErrnoStatus(ENOTDIR, "make directory " + part);
    if (!part.empty() && part.back() != '/') directories_.insert(part);
    if (end == std::string::npos) return OkStatus();
  }
}

StatusOr<std::unique_ptr<FileLock>> FakeFileSystem::TryLock(const std::string& path) {
  RETURN_IF_ERROR(OpenAppend(path).status());
  if (!locked_.insert(path).second) return std::unique_ptr<FileLock>();
  return std::unique_ptr<FileLock>(std::make_unique<FakeFileLock>(locked_, path));
}

StatusOr<std::vector<std::string>> FakeFileSystem::List(const std::string& directory) {
  if (!IsDirectory(directory)) {
    return ErrnoStatus(files_.count(directory) != 0 ? ENOTDIR : ENOENT, "list " + directory);
  }
  std::set<std::string> names;
  // As the real disk does it: names of this directory only, each once and in order.
  const auto add = [&](const std::string& path) {
    if (path != directory && ParentOf(path) == directory) {
      names.insert(path.substr(path.find_last_of('/') + 1));
    }
  };
  for (const auto& file : files_) add(file.first);
  for (const std::string& path : directories_) add(path);
  return std::vector<std::string>(names.begin(), names.end());
}

void FakeFileSystem::Crash(std::size_t torn_bytes) {
  for (const auto& [path, file] : files_) {
    file->bytes.resize(std::min(file->bytes.size(), file->synced + torn_bytes));
    file->synced = file->bytes.size();
  }
}

void FakeFileSystem::FailWrites(std::optional<Status> status, std::uint64_t after) {
  fault_ = std::move(status);
  fault_from_ = writes_ + after;
}

// The root and the working directory are always there.
bool FakeFileSystem::IsDirectory(const std::string& path) const {
  return path == "/" || path == "." || directories_.count(path) != 0;
}

Status FakeFileSystem::StartWrite() {
  if (fault_ && writes_ >= fault_from_) return *fault_;
  ++writes_;
  return OkStatus();
}

Status FakeFileSystem::StartCreate(const std::string& path) {
  if (IsDirectory(path)) return ErrnoStatus(EISDIR, "open " + path);
  if (!IsDirectory(ParentOf(path))) return ErrnoStatus(ENOENT, "open " + path);
  return StartWrite();
}

}  // namespace galen
