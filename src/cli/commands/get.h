// `galen get KIND [NAME]`: devices, Pods with devices, nodes or drivers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/session.h"
#include "cli/options.h"
#include "cli/output/table.h"
#include "cli/output/views.h"

namespace galen::checks::v1 {
class Check;
}  // namespace galen::checks::v1

namespace galen::cli {

// The output, and what could not be considered: a sentence each, for standard error.
struct Answer {
  std::string text;
  std::vector<std::string> notes;
};

// The API server's objects, and what could not be read, a sentence each.
struct FetchedFleet {
  FleetObjects objects;
  std::vector<std::string> notes;
};

// Fetches all objects of a fleet. `ns` "" = all. An object that cannot be decoded, or an optional
// kind that may not be read, is a note.
StatusOr<FetchedFleet> FetchFleet(Session& session, const std::string& ns);

// `kind` in any of its spellings ("pod", "pods", "po"); InvalidArgument lists the known kinds.
// `now` {} shows times instead of ages.
StatusOr<Table> TableOf(const Fleet& fleet, const std::string& kind, const std::string& name,
                        const Options& options, WallTime now);
StatusOr<Json> JsonOf(const Fleet& fleet, const std::string& kind, const std::string& name,
                      const Options& options);

// As a table or JSON, by options.output. Ends in a newline. A Pod's name may be NAMESPACE/NAME.
// NotFound when there is none of that name.
StatusOr<std::string> Show(const Fleet& fleet, const std::string& kind, const std::string& name,
                           const Options& options, WallTime now);

// The same as a table for a live picture `columns` wide: without spare columns where it would be
// too wide; with -o wide a last line names them.
StatusOr<std::string> ShowLive(const Fleet& fleet, const std::string& kind, const std::string& name,
                               const Options& options, WallTime now, std::size_t columns);

// Splits "pod/trainer-0", as kubectl writes it, into `kind` and `name`. InvalidArgument when there
// is another name, or none after the slash.
Status SplitKind(std::string& kind, std::string& name);

// `kind` may be "pod/trainer-0" if `name` is "".
StatusOr<Answer> Get(const Options& options, std::string kind, std::string name);

// ---- `galen get checks`: the results of the commands that check this node's devices, and their
// cost. The agent lists the sockets of the node's drivers, and each driver is asked for its checks.

// A check as a driver lists it.
struct ListedCheck {
  std::string driver;
  std::string name, device;
  std::string state, result, says;
  Duration every{}, interval{};
  std::optional<WallTime> last_run{};  // the end of the newest run; nullopt: none has ended
  Duration took{}, cpu{}, cpu_of_all{};
  std::uint64_t runs = 0;
};

ListedCheck FromProto(const std::string& driver, const checks::v1::Check& check);

// `now` {} shows times instead of ages; `wide` adds the cost of all runs.
Table ChecksTable(const std::vector<ListedCheck>& checks, bool wide, WallTime now);
// {"items": [...], "troubles": [...]}; durations in seconds; a trouble is a driver that lists none,
// or rules of one that were refused or watch nothing.
Json ChecksJson(const std::vector<ListedCheck>& checks, const std::vector<std::string>& troubles);

// Those of the check `name`, or all. A driver that does not answer is a note. NotFound: there is no
// check of this name. InvalidArgument for a watch of checks. Other errors are those of the agent's
// socket.
StatusOr<Answer> GetChecks(const Options& options, const std::string& name);

}  // namespace galen::cli
