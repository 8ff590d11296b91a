// Results that a test writes down. For tests.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "model/check_result.h"
#include "probes/active_check/check_results.h"

namespace galen::probes {

class FakeResultFiles final : public ResultFiles {
 public:
  // As another file under this name.
  void Write(const std::string& name, std::string text) {
    texts_[name] = {{.inode = ++inodes_, .bytes = text.size()}, std::move(text)};
  }
  void Remove(const std::string& name) { texts_.erase(name); }

  StatusOr<std::map<std::string, FileStamp>> List(const std::string&) override {
    if (!trouble.ok()) return trouble;
    std::map<std::string, FileStamp> files;
    for (const auto& [name, file] : texts_) {
      if (!name.starts_with('.')) files[name] = file.first;
    }
    return files;
  }
  StatusOr<std::string> Read(const std::string& path) override {
    ++reads;
    if (!trouble_of_reads.ok()) return trouble_of_reads;
    const auto it = texts_.find(path.substr(path.rfind('/') + 1));
    if (it == texts_.end()) return NotFound("{}: no such file", path);
    return it->second.second.substr(0, kCheckResultBytesMax + 1);
  }

  int reads = 0;
  Status trouble;           // of listing
  Status trouble_of_reads;  // and of reading

 private:
  std::map<std::string, std::pair<FileStamp, std::string>> texts_;
  std::uint64_t inodes_ = 0;
};

}  // namespace galen::probes
