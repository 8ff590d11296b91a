// The service galen.checks.v1.Checks on a driver's socket: `galen get checks` reads from it what
// the checks' commands found on devices, and what they cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "rpc/service.h"

namespace galen::sdk {

// One check of one device. Every text is printable and bounded.
struct CheckReport {
  std::string name, device;
  std::string state;   // "waiting", "running", "hanging" or "off"
  std::string result;  // "ok", "problem", "unknown", or "" before the first run has ended
  std::string says;
  Duration every{}, interval{};  // the configured interval, and the present one
  std::optional<WallTime> last_run;
  Duration took{}, cpu{};  // of the last run
  std::uint64_t runs = 0;
  Duration cpu_of_all{};
};

// Runs the checks. Called on the driver's loop.
class CheckSource {
 public:
  virtual ~CheckSource() = default;
  virtual std::vector<CheckReport> Checks() const = 0;
  // Which rules are not in force or match nothing, a sentence each.
  virtual std::vector<std::string> Troubles() const { return {}; }
};

// `source` is borrowed and outlives the dispatcher.
void ServeChecks(rpc::Dispatcher& dispatcher, const CheckSource& source);

}  // namespace galen::sdk
