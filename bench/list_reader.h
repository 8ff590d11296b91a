// A process of this program that reads all Pods of an API server by the informer that every agent
// uses, and reports what memory that took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace galen::bench {

// What this program is called with, first, to be that process. It is one of its own because a peak
// of memory cannot be measured where other things were done before.
inline constexpr const char* kListReaderMode = "as-list-reader";

// The process's settings.
struct ListReader {
  std::string server;       // "http://127.0.0.1:41234"
  std::int64_t page = 500;  // Pods a page; 0 = all in one answer
};

// The command line; `program` is this program's own path.
std::vector<std::string> CommandOf(const ListReader& reader, const std::string& program);

// The process's main; `argv` as CommandOf made it, without the mode. Writes one line of JSON:
// `pods` found, `peak` and `kept` in bytes above what was resident before, `nanos` taken. 1 when
// the list could not be read.
int RunListReader(int argc, char** argv);

}  // namespace galen::bench
