// Which records a journal still holds, by their numbers. An agent numbers what it records from 1,
// without a gap; a journal that has grown past its bound (docs/formats/journal.md, 16 MiB) is
// rewritten with the newest of them, and with the last change of each device. Values; free of
// threads.
#pragma once

#include <cstdint>
#include <vector>

namespace galen::bench {

class KeptRecords {
 public:
  // A rewritten journal holds at least this many of the newest: the window is 5,000 records, of
  // which 2 MiB are kept, and no record of a burst is longer than 1 kB.
  static constexpr std::uint64_t kWindowLeast = 2'000;

  // The next record of the journal, in its order.
  void Add(std::uint64_t sequence) { sequences_.push_back(sequence); }

  // The newest records of which none is missing: their numbers follow each other up to the last.
  std::uint64_t newest_without_gap() const;
  // Whether nothing is missing that the journal must hold. Before its first rewrite that is every
  // record from number 1 on.
  bool AreAll(bool rewritten) const;

 private:
  std::vector<std::uint64_t> sequences_;
};

}  // namespace galen::bench
