#include <utility>

#include "base/files/posix_file_system.h"
#include "base/path.h"

namespace galen {
namespace {

Status WriteAll(DiskFile& file, std::string_view bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const StatusOr<std::size_t> written = file.Write(bytes.substr(done));
    if (!written.ok()) {
      // On a full disk a part may have gone in, which whoever reads the file would take for damage.
      if (done > 0) static_cast<void>(file.TakeBack(done));  // the first fault is reported
      return written.status();
    }
    done += *written;
  }
  return OkStatus();
}

class DurableAppendFile final : public AppendFile {
 public:
  explicit DurableAppendFile(std::unique_ptr<DiskFile> file) : file_(std::move(file)) {}

  Status Append(std::string_view bytes) override { return WriteAll(*file_, bytes); }
  Status Sync() override { return file_->Sync(); }

 private:
  const std::unique_ptr<DiskFile> file_;
};

// Whether a directory that was there before us can be left as it is found: one that we may not
// open, or of a kind that knows no sync (fsync(2), EINVAL), was made durable by whoever made it.
bool MayStayUnsynced(const Status& synced) {
  return synced.ok() || synced.code() == Code::kPermissionDenied ||
         synced.code() == Code::kInvalidArgument;
}

}  // namespace

StatusOr<std::unique_ptr<AppendFile>> DurableFileSystem::OpenAppend(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<DiskFile> file, disk_.OpenAppend(path));
  // The name of a new file must survive a power cut just as its bytes do.
  RETURN_IF_ERROR(disk_.SyncDirectory(ParentOf(path)));
  return std::unique_ptr<AppendFile>(std::make_unique<DurableAppendFile>(std::move(file)));
}

Status DurableFileSystem::WriteAtomically(const std::string& path, std::string_view bytes,
                                          unsigned mode) {
  ASSIGN_OR_RETURN(const Disk::Temporary temporary, disk_.CreateTemporary(path, mode));
  Status status = WriteAll(*temporary.file, bytes);
  // Before the rename, or a crash could leave the new name with no bytes behind it. Never again
  // after an error: the kernel may have dropped the bytes, and a second sync would not say so.
  if (status.ok()) status = temporary.file->Sync();
  if (status.ok()) status = disk_.Rename(temporary.path, path);
  if (!status.ok()) {
    // The first fault is reported; a temporary file that stays is only untidy.
    static_cast<void>(disk_.Remove(temporary.path));
    return status;
  }
  return disk_.SyncDirectory(ParentOf(path));
}

Status DurableFileSystem::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(disk_.Rename(from, to));
  // The old name needs no sync of its own: both names at once after a crash do no harm.
  return disk_.SyncDirectory(ParentOf(to));
}

Status DurableFileSystem::Remove(const std::string& path) {
  const Status removed = disk_.Remove(path);
  return removed.code() == Code::kNotFound ? OkStatus() : removed;
}

// From the top down. A directory is made only when the name of the one above it is on the disk, so
// that whichever call a crash ends, the next one finds at most one name to settle: the deepest that
// is there.
Status DurableFileSystem::MakeDirectories(const std::string& path, unsigned mode) {
  std::string found;
  // Starting at 1 leaves the root alone.
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (disk_.CheckDirectory(part).ok()) {
      found = part;
    } else {
      RETURN_IF_ERROR(SettleName(std::exchange(found, "")));
      RETURN_IF_ERROR(MakeDirectory(part, mode));
    }
    if (end == std::string::npos) return SettleName(found);
  }
}

Status DurableFileSystem::SettleName(const std::string& found) {
  if (found.empty()) return OkStatus();
  const Status synced = disk_.SyncDirectory(ParentOf(found));
  return MayStayUnsynced(synced) ? OkStatus() : synced;
}

Status DurableFileSystem::MakeDirectory(const std::string& path, unsigned mode) {
  const Status made = disk_.MakeDirectory(path, mode);
  // A file in the way, or another process was faster.
  if (made.code() == Code::kAlreadyExists) RETURN_IF_ERROR(disk_.CheckDirectory(path));
  if (!made.ok() && made.code() != Code::kAlreadyExists) return made;
  return disk_.SyncDirectory(ParentOf(path));
}

}  // namespace galen
