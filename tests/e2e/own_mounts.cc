#include "tests/e2e/own_mounts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/fd.h"

namespace galen::e2e {
namespace {

// What is left on a disk is taken by one file.
constexpr const char* kFiller = "/filler";

Status Unshare() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS | (user == 0 ? 0 : CLONE_NEWUSER)) != 0) {
    return ErrnoStatus(errno, "unshare mounts");
  }
  if (user != 0) {
    // Root within, and still who we are without.
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
    std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return ErrnoStatus(errno, "make mounts private");
  }
  return OkStatus();
}

}  // namespace

Status EnterOwnMounts() {
  static const Status entered = Unshare();
  return entered;
}

SmallDisk::SmallDisk(std::string path, std::size_t bytes) : path_(std::move(path)) {
  std::filesystem::create_directories(path_);
  const std::string options = fmt::format("size={},mode=0700", bytes);
  EXPECT_EQ(::mount("tmpfs", path_.c_str(), "tmpfs", 0, options.c_str()), 0) << errno;
}

SmallDisk::~SmallDisk() { ::umount2(path_.c_str(), MNT_DETACH); }

void SmallDisk::Fill() {
  const Fd file(::open((path_ + kFiller).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  const std::string page(std::size_t{64} << 10, 'x');
  while (::write(file.get(), page.data(), page.size()) > 0) {
  }
  ASSERT_EQ(errno, ENOSPC);
}

void SmallDisk::MakeRoom() { std::filesystem::remove(path_ + kFiller); }

void SmallDisk::SetReadOnly(bool read_only) {
  const unsigned long flags = read_only ? MS_REMOUNT | MS_RDONLY : MS_REMOUNT;
  ASSERT_EQ(::mount(nullptr, path_.c_str(), nullptr, flags, nullptr), 0) << errno;
}

StatusOr<std::unique_ptr<FreezableDisk>> FreezableDisk::Mount(std::string path, std::size_t bytes) {
  if (::geteuid() != 0) return Unimplemented("only root may mount a disk that freezes");
  std::filesystem::create_directories(path);
  const std::string image = path + ".image";
  std::ofstream(image).close();
  std::filesystem::resize_file(image, bytes);
  // mount(8) finds a loop device, which goes with the mount.
  const std::string make =
      fmt::format("mkfs.ext4 -q '{}' && mount -o loop '{}' '{}'", image, image, path);
  if (std::system(make.c_str()) != 0) return Unimplemented("no loop device with ext4 on it");
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return ErrnoStatus(errno, "open " + path);
  return std::unique_ptr<FreezableDisk>(new FreezableDisk(std::move(path), std::move(directory)));
}

FreezableDisk::~FreezableDisk() {
  if (frozen_) GoOn();
  ::umount2(path_.c_str(), MNT_DETACH);
}

void FreezableDisk::Freeze() {
  ASSERT_EQ(::ioctl(directory_.get(), FIFREEZE, 0), 0) << errno;
  frozen_ = true;
}

void FreezableDisk::GoOn() {
  ASSERT_EQ(::ioctl(directory_.get(), FITHAW, 0), 0) << errno;
  frozen_ = false;
}

FileInPlace::FileInPlace(const std::string& file, std::string place) : place_(std::move(place)) {
  EXPECT_EQ(::mount(file.c_str(), place_.c_str(), nullptr, MS_BIND, nullptr), 0) << errno;
}

FileInPlace::~FileInPlace() { ::umount2(place_.c_str(), MNT_DETACH); }

}  // namespace galen::e2e
