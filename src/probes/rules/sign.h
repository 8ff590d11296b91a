// Signs that were read from devices, and who reads them. Values and seams; a Probe belongs to its
// loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace galen::probes {

// When something happened. `time` is what people are shown, by the wall clock of then; `at` is
// where that lies on the clock that nobody sets, and what is compared. Without a value: before all
// others.
struct Moment {
  WallTime time{};
  Time at = Time::min();
};

// The present on both clocks. Windows and quiet times run on `now`, which nobody sets. A sign says
// by its wall time how old it is when it comes: a log that is read after a restart brings old ones.
struct Instant {
  Time now{};
  WallTime wall{};

  // One from the future happened now, on both clocks: its clock, or ours, was set.
  Moment Of(WallTime time) const {
    return {std::min(time, wall), now - std::max(Duration::zero(), wall - time)};
  }
};

// A sign of this device concerns every device of the driver, e.g. a fault of the switch between. No
// device can have the name: it is not a DNS label.
inline constexpr std::string_view kEveryDevice = "*";

// One thing read from one device at one time. `error` set: it could not be read, and `value` means
// nothing.
struct Sign {
  std::string device{};  // "gpu-3"
  std::string name{};    // "temperature"
  std::variant<double, std::string> value = 0.0;
  std::string unit{};                // "°C"
  std::optional<double> expected{};  // what this device can do at its best, where known
  // A command's words about it, or the part of the device that it is about ("link 6"); printable.
  std::string detail{};
  // The MIG instance that an event is about, where a GPU is cut into them: "1", or "1/0" with its
  // compute instance. "": the whole device, or its source does not say.
  std::string part{};
  // What the value is made of where that may change, such as the files that were added up: "p1 p2".
  // A counter of other parts than before begins anew: what they bring is no rise.
  std::string parts{};
  // When the hardware showed it, by the wall clock, because sources such as the kernel's log bring
  // old ones.
  WallTime time{};
  std::string raw{};  // for people: "kernel log: Xid 79 on 0000:4b:00.0"; "" when there is no more
  std::string error{};  // why it could not be read
  // The device has no such sign: an error that was shown of it before is over. `value` means
  // nothing.
  bool absent = false;
  // The text that it should be, such as a version: then `value` is compared with it as a text.
  std::string expected_text{};
  // An event that may be older than this process, such as what a first look shows: it ends findings
  // of an earlier process, and is an event only where it ends one.
  bool maybe_old = false;
  // How a reading came. What is asked for seldom, such as an exporter's page, stands for the time
  // until it is asked for again; but only another reading confirms it, and neither time nor showing
  // it again does.
  enum class Look {
    kNow,
    kSeldom,
    kAgain
  };  // at each look; seldom, and now; the last one of these
  Look look = Look::kNow;

  bool operator==(const Sign&) const = default;
};

// The value as a number; nullopt for any other text, and for "nan" and "inf": no rule can weigh
// them.
std::optional<double> NumberOf(const Sign& sign);
// The value as a whole number, for events such as XIDs; nullopt for a fraction or what a double
// cannot hold exactly.
std::optional<std::int64_t> WholeNumberOf(const Sign& sign);
// The value as bits that a mask can weigh; nullopt for what is no whole number, or a negative one.
std::optional<std::uint64_t> BitsOf(const Sign& sign);
// The value as people write it: "91", "0.5", "down".
std::string ValueText(const Sign& sign);
// Ten digits at most, without trailing zeros.
std::string NumberText(double number);

// A source that is asked, again and again, by whoever owns it. What it leaves out was not looked
// at; what it failed to read has `error`. Devices are named as in the driver's inventory.
class Probe {
 public:
  virtual ~Probe() = default;
  // A status: nothing at all could be read, so every device is Unknown. What a single file refused
  // is that sign's error instead. Runs on the loop, so it must return soon.
  virtual StatusOr<std::vector<Sign>> Observe() = 0;
};

// Where a source with events of its own (kernel log, simulator) puts the signs it saw.
class SignSink {
 public:
  virtual ~SignSink() = default;
  // Called on the loop, never from within a call of the sink's owner into the source.
  virtual void OnSigns(std::vector<Sign> signs) = 0;
};

}  // namespace galen::probes
