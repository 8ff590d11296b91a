// A process of this program that reads all Pods of an API server by the informer that every agent
// uses, and tells what memory that took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace galen::bench {

// What this program is called with, first, to be that process.
inline constexpr const char* kListReaderMode = "as-list-reader";

struct ListReader {
  std::string server;       // "http://127.0.0.1:41234"
  std::int64_t page = 500;  // Pods a page; 0 = all in one answer
};

std::vector<std::string> CommandOf(const ListReader& reader, const std::string& program);

// The process's main; `argv` as CommandOf made it, without the mode. Writes one line of JSON.
int RunListReader(int argc, char** argv);

}  // namespace galen::bench
