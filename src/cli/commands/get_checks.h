// `galen get checks`: the results of the commands that check this node's devices, and their cost.
// The agent lists the sockets of the node's drivers, and each driver is asked for its checks.
#pragma once

#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/commands/get.h"
#include "cli/options.h"
#include "cli/output/table.h"

namespace galen::checks::v1 {
class Check;
}  // namespace galen::checks::v1

namespace galen::cli {

// A check as a driver lists it.
struct ListedCheck {
  std::string driver;
  std::string name, device;
  std::string state, result, says;
  Duration every{}, interval{};
  WallTime last_run{};  // {} = none has ended
  Duration took{}, cpu{}, cpu_of_all{};
  std::uint64_t runs = 0;
};

ListedCheck FromProto(const std::string& driver, const checks::v1::Check& check);

// `now` {} shows times instead of ages; `wide` adds what all runs cost.
Table ChecksTable(const std::vector<ListedCheck>& checks, bool wide, WallTime now);
// {"items": [...]}; durations in seconds.
Json ChecksJson(const std::vector<ListedCheck>& checks);

// Those of the check `name`, or all. A driver that does not answer is a note. NotFound: there is no
// check of this name. InvalidArgument where checks are to be watched. Other errors are those of the
// agent's socket.
StatusOr<Answer> GetChecks(const Options& options, const std::string& name);

}  // namespace galen::cli
