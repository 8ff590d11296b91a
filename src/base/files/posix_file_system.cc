#include "base/files/posix_file_system.h"

namespace galen {
namespace {

// Neither part has state, so a pair for each call is as good as one kept, and any thread may call.
template <typename Call>
auto OnDisk(const Call& call) {
  PosixDisk disk;
  DurableFileSystem files(disk);
  return call(files);
}

}  // namespace

StatusOr<std::string> PosixFileSystem::Read(const std::string& path) {
  return OnDisk([&](FileSystem& files) { return files.Read(path); });
}

StatusOr<std::unique_ptr<AppendFile>> PosixFileSystem::OpenAppend(const std::string& path) {
  return OnDisk([&](FileSystem& files) { return files.OpenAppend(path); });
}

Status PosixFileSystem::WriteAtomically(const std::string& path, std::string_view bytes,
                                        unsigned mode) {
  return OnDisk([&](FileSystem& files) { return files.WriteAtomically(path, bytes, mode); });
}

Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  return OnDisk([&](FileSystem& files) { return files.Rename(from, to); });
}

Status PosixFileSystem::Remove(const std::string& path) {
  return OnDisk([&](FileSystem& files) { return files.Remove(path); });
}

Status PosixFileSystem::MakeDirectories(const std::string& path, unsigned mode) {
  return OnDisk([&](FileSystem& files) { return files.MakeDirectories(path, mode); });
}

StatusOr<std::unique_ptr<FileLock>> PosixFileSystem::TryLock(const std::string& path) {
  return OnDisk([&](FileSystem& files) { return files.TryLock(path); });
}

StatusOr<std::vector<std::string>> PosixFileSystem::List(const std::string& directory) {
  return OnDisk([&](FileSystem& files) { return files.List(directory); });
}

}  // namespace galen
