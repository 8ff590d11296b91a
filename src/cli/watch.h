// `galen watch [KIND]` and `galen get -w`: the table stays and changes. On a terminal in place, in
// a pipe a line for each row that changed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace galen::cli {

// Runs until a signal; the exit code.
StatusOr<int> Watch(const Options& options, const std::string& kind, const std::string& name,
                    const std::function<void(std::string_view)>& output);

// The lines of `after` that `before` did not have, header left out: what a pipe is told.
std::string ChangedLines(const std::string& before, const std::string& after);

}  // namespace galen::cli
