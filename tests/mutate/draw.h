// Which faults are planted: so many of a room, drawn by a seed from all places where one can be
// made. The same sources and seed give the same faults on every machine, and a larger number only
// adds to those of a smaller one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/mutate/fault_kinds.h"

namespace galen::mutate {

struct Fault {
  std::string path;  // from the root: "src/model/health.cc"
  std::size_t line = 0;
  std::string kind;
  std::string before;  // the lines that it changes, on one line
  std::string after;
  std::string source;  // the whole file with the fault
};

struct SourceText {
  std::string path;
  std::string text;
};

// As many of each kind as of any other while there are places left; never two faults that are
// alike. Fewer than `count` when there are no more. `room` is part of the seed, so that what is
// drawn of one room does not depend on which others are asked for.
std::vector<Fault> Draw(const std::vector<SourceText>& sources, const std::string& room,
                        std::uint64_t seed, std::size_t count);

}  // namespace galen::mutate
