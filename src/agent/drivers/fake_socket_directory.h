// A socket directory in memory; a test puts sockets in and takes them out. For tests.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/drivers/socket_directory.h"

namespace galen::agent {

class FakeSocketDirectory final : public SocketDirectory {
 public:
  Status Watch(std::function<void()> on_change) override {
    on_change_ = std::move(on_change);
    return OkStatus();
  }
  StatusOr<std::vector<DirectoryEntry>> Scan() override {
    ++scans_;
    if (!fault_.ok()) return fault_;
    std::vector<DirectoryEntry> entries;
    for (const auto& [path, entry] : entries_) entries.push_back(entry);
    return entries;
  }
  StatusOr<std::string> RealPath(const std::string& path) override {
    const std::string plain = std::filesystem::path(path).lexically_normal();
    for (const auto& [from, to] : links_) {
      if (plain == from || plain.starts_with(from + "/")) return to + plain.substr(from.size());
    }
    if (missing_.contains(plain)) return NotFound("resolve {}: no such file", path);
    return plain;
  }

  void Put(const std::string& path, DirectoryEntry::Kind kind = DirectoryEntry::Kind::kSocket) {
    entries_[path] = {path, kind, ++stamp_};
    Notify();
  }
  void Remove(const std::string& path) {
    entries_.erase(path);
    Notify();
  }
  // Nothing is at `path`; elsewhere RealPath takes anything to be there, for the directories of
  // drivers are not in here.
  void Miss(const std::string& path) { missing_.insert(path); }
  // `from`, and what lies below it, lies at `to` in truth.
  void Link(const std::string& from, const std::string& to) { links_[from] = to; }
  void FailScans(Status status) { fault_ = std::move(status); }
  // From now on changes are not noticed, as when inotify's queue overflowed.
  void GoDeaf() { on_change_ = nullptr; }
  int scans() const { return scans_; }

 private:
  void Notify() {
    if (on_change_) on_change_();
  }

  std::map<std::string, DirectoryEntry> entries_;
  std::map<std::string, std::string> links_;
  std::set<std::string> missing_;
  std::function<void()> on_change_;
  Status fault_;
  std::uint64_t stamp_ = 0;
  int scans_ = 0;
};

}  // namespace galen::agent
