// What was read from a device, and who reads it. Values and seams; a Probe belongs to its loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace galen::probes {

// A sign of this device concerns every device of the driver, e.g. a fault of the switch between.
inline constexpr std::string_view kEveryDevice = "*";

// One thing read from one device at one time. `error` set: it could not be read, and `value` says
// nothing.
struct Sign {
  std::string device{};  // "gpu-3"
  std::string name{};    // "temperature"
  std::variant<double, std::string> value = 0.0;
  std::string unit{};                // "°C"
  std::optional<double> expected{};  // what this device can do at its best, where it tells
  WallTime time{};                   // when the hardware showed it
  std::string raw{};  // for people: "kernel log: Xid 79 on 0000:4b:00.0"; "" when there is no more
  std::string error{};  // why it could not be read

  bool operator==(const Sign&) const = default;
};

// The value as a number; a text that is none gives nullopt.
std::optional<double> NumberOf(const Sign& sign);
std::optional<std::int64_t> WholeNumberOf(const Sign& sign);
// The value as people write it: "91", "0.5", "down".
std::string ValueText(const Sign& sign);
std::string NumberText(double number);

// A source that is asked. What it leaves out was not looked at; what it failed to read has `error`.
class Probe {
 public:
  virtual ~Probe() = default;
  // A status: nothing at all could be read.
  virtual StatusOr<std::vector<Sign>> Observe() = 0;
};

// Where a source that speaks up by itself (kernel log, simulator) leaves what it saw.
class SignSink {
 public:
  virtual ~SignSink() = default;
  // Called on the loop, never from within a call of the sink's owner into the source.
  virtual void OnSigns(std::vector<Sign> signs) = 0;
};

}  // namespace galen::probes
