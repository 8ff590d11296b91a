// Mounts that only this test and its programs see: small disks, and files in the place of others.
// Belongs to the test's thread, from which the programs are started.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/status.h"

namespace galen::e2e {

// Gives the calling thread mounts of its own, once a process; as a user who may do so, else within
// a user namespace. PermissionDenied, or the system's error, where neither is to be had.
Status EnterOwnMounts();

// A tmpfs at a path. REQUIRES: EnterOwnMounts() was OK.
class SmallDisk {
 public:
  // Makes the directory. The disk goes with this, with all that it holds.
  SmallDisk(std::string path, std::size_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;

  // Takes all the room that is left; and gives it back.
  void Fill();
  void MakeRoom();
  // REQUIRES, for true: no file of it is open for writing.
  void SetReadOnly(bool read_only);

 private:
  const std::string path_;
};

// An ext4 of a file at a path, which can be frozen as by a controller that hangs: whoever writes to
// it waits. Only root of the machine may have one. REQUIRES: EnterOwnMounts() was OK.
class FreezableDisk {
 public:
  // Makes the directory, and `path` + ".image" beside it. Unimplemented, with what the machine
  // lacks, where there is none to be had.
  static StatusOr<std::unique_ptr<FreezableDisk>> Mount(std::string path, std::size_t bytes);
  // Goes on first, so that whoever waits can end.
  ~FreezableDisk();
  FreezableDisk(const FreezableDisk&) = delete;

  // REQUIRES: it is not frozen, is frozen.
  void Freeze();
  void GoOn();

 private:
  FreezableDisk(std::string path, Fd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  const std::string path_;
  const Fd directory_;
  bool frozen_ = false;
};

// A file that is seen in the place of another. REQUIRES: EnterOwnMounts() was OK.
class FileInPlace {
 public:
  FileInPlace(const std::string& file, std::string place);
  ~FileInPlace();
  FileInPlace(const FileInPlace&) = delete;

 private:
  const std::string place_;
};

}  // namespace galen::e2e
