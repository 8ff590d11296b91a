// A lock in memory, for disks that are there. Code of tests.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "base/files/file_system.h"

namespace galen {

// Takes its path out of those that are locked when it goes.
class FakeFileLock final : public FileLock {
 public:
  // `locked` is lent; its disk outlives what it handed out.
  FakeFileLock(std::set<std::string>& locked, std::string path)
      : locked_(locked), path_(std::move(path)) {}
  ~FakeFileLock() override { locked_.erase(path_); }

  FakeFileLock(const FakeFileLock&) = delete;
  FakeFileLock& operator=(const FakeFileLock&) = delete;

 private:
  std::set<std::string>& locked_;
  const std::string path_;
};

}  // namespace galen
