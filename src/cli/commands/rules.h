// `galen rules`: tables of rules of a driver's devices, checked, shown and tried on this machine.
// Needs no cluster.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/options.h"

namespace galen::cli {

// `file` is a path, or the name of a built-in table ("pci") where there is no such file. Each gives
// what to print. NotFound: no such table; InvalidArgument: every fault of it, one a line.

// That there is nothing wrong with it.
StatusOr<std::string> CheckRules(const std::string& file);
// A line for each rule, those of a table that it extends too.
StatusOr<std::string> ListRules(const Options& options, const std::string& file);
// What each rule reads, when it begins and ends and what it says; of the rule `id` alone unless
// that is "".
StatusOr<std::string> ExplainRules(const std::string& file, const std::string& id);
// Which rules begin and end when the devices show what is recorded: probes::ReplayRules says what a
// recording is.
StatusOr<std::string> TestRules(const std::string& file, const std::string& recording);

}  // namespace galen::cli
