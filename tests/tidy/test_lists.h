// What CMake's lists say of sources: which are compiled, and which test program runs which of them.
// Comments are not read, and a name counts with its folders only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "tests/tidy/source_tree.h"

namespace galen::tidy {

// Paths from the root of all .cc files that a CMakeLists.txt names.
std::set<std::string> ListedSources();

// Paths from the root of what stands behind SRCS in a galen_test, and that program's name.
std::map<std::string, std::string> TestPrograms();

// Adds those of one list. A variable counts for what a `set` of the same list gives it.
void AddTestPrograms(const SourceFile& list, std::map<std::string, std::string>& programs);

}  // namespace galen::tidy
