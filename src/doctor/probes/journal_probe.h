// What the agent's journal shows from outside, while the agent owns it: files that were set aside,
// and times that went back. Reads only; a file that the agent is writing may end in the middle.
#pragma once

#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "doctor/observations.h"
#include "history/store/record.h"

namespace galen::doctor {

// `directory` is <stateDir>/journal; `now` this machine's time. NotFound when there is none.
StatusOr<JournalSeen> LookAtJournal(FileSystem& files, const std::string& directory, WallTime now);

// Where the agent's own clock went back by more than a second, oldest first, a sentence each; also
// when the last record is later than `now`. Counts only records that the agent stamped itself:
// drivers report times of signs, which come in any order. Pure.
std::vector<std::string> JumpsOf(const std::vector<history::Record>& records, WallTime now);

}  // namespace galen::doctor
