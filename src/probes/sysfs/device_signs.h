// The looks at one device, each compared with what the device showed before: a file that was there
// and is gone is missed, one that never was is not a sign of it. A value; no clock, no I/O.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"
#include "probes/sysfs/device_look.h"

namespace galen::probes {

// A directory of sysfs as a device.
struct SysfsDevice {
  std::string name{};  // as in the driver's inventory
  std::string path{};  // below sysfs's root: "bus/pci/devices/0000:4b:00.0"

  bool operator==(const SysfsDevice&) const = default;
};

// Beside the signs of its files a device shows `present` (1, or 0 when its directory is gone) and,
// when a directory that was gone is back, the event `reset` with the value "device", dated at the
// last look at which it was gone, or at a removal that was heard of.
class DeviceSigns {
 public:
  // `rules` is lent and outlives this.
  DeviceSigns(const RuleTable& rules, SysfsDevice device)
      : rules_(&rules), device_(std::move(device)) {}

  // Adds what a look showed. Signs that it did not read are as they were. One that was
  // unknown and of which the device has nothing is shown as absent, once.
  void Take(const DeviceLook& look, const Instant& at, std::vector<Sign>& signs);
  // It left at `when`, though no look may have shown that.
  void NoteGone(Time when) { gone_ = when; }
  // The device cannot be read: `sign`, and all signs that had a value, become unknown.
  std::vector<Sign> Unknown(std::string_view sign, const std::string& error, WallTime now);

 private:
  Sign MakeSign(std::string_view name, WallTime now) const;
  // The sign of that name, as one that cannot be read.
  Sign MakeUnknown(const std::string& name, const std::string& error, WallTime now);
  void TakeReading(const SignReading& reading, WallTime now, std::vector<Sign>& signs);

  const RuleTable* rules_;
  SysfsDevice device_;
  std::optional<Time> gone_;  // the last look, where its directory was not there; or NoteGone
  // A sign that had a value: as it was read last, with the error where that failed. `expected` is
  // the last one that was known.
  struct Last {
    Sign sign{};
    bool read = false;  // by the look that is being taken
    // What the last value was made of, by file.
    std::map<std::string, double> parts{};
    // Files of a sum that were removed, with what they had last: it stays in the sum, so that this
    // neither falls, as if it had been reset, nor jumps.
    std::map<std::string, double> removed{};
    int returns = 0;  // how often a removed file, or another of its name, was there again
  };
  bool IsSum(const SignReading& reading) const;
  // The file that was a part of the sum, is there and has no value now; "": none.
  static std::string MissingPart(const Last& last, const SignReading& reading);
  // Takes the parts of a reading with a value.
  void TakeParts(Last& last, const SignReading& reading) const;
  std::map<std::string, Last> last_;
  std::set<std::string> unknown_;  // shown with an error since they were read
};

}  // namespace galen::probes
