// Warns of the operator's rules that match nothing: a valid table may name a file or a row that no
// device has.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "driver/edges.h"
#include "galen/driver.h"
#include "probes/recording/shown_signs.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::device_driver {

// For a table that the operator gave. Belongs to its loop.
class SignWatch {
 public:
  // How long after its first read a device has shown all its signs: the slowest poll, or the
  // patience with a reading thread.
  static constexpr Duration kLooksTake = std::chrono::seconds(12);

  // `reads_kernel_log`: whether the kernel log is read.
  SignWatch(Edges edges, bool reads_kernel_log);

  // Warns of what is known already, and of the rest once devices have been read.
  void Start();
  void SetDevices(const Inventory& devices);
  // Another table with the same signs, borrowed until the next call.
  void SetRules(const probes::RuleTable& rules);
  void Take(const std::vector<probes::Sign>& signs);
  // Rules that match nothing at present, a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  struct Watched {
    std::string place;           // below sysfs's root, or the name
    std::optional<Time> read{};  // the first time; a device that hangs was not read
  };

  // Names of devices that were read at least kLooksTake ago.
  std::vector<std::string> LookedAt() const;
  // Rules that need the kernel log, which is not read.
  std::vector<std::string> WithoutKernelLog() const;
  bool IsLook(const probes::Sign& sign) const;
  void WarnOfKernelLog();
  // Warns of what is newly known, and waits for the remaining devices.
  void Warn();
  void WarnOfExtended(const std::vector<std::string>& devices);

  const Edges edges_;
  const bool reads_kernel_log_;
  const probes::RuleTable* rules_;
  probes::ShownSigns shown_;
  std::map<std::string, Watched, std::less<>> devices_;
  std::set<std::string> warned_signs_, warned_devices_;
  bool warned_of_kernel_log_ = false;
  bool complete_ = false;  // every sign was shown: further signs need not be noted
  Timer timer_;            // set while a device that was read is still within kLooksTake
};

}  // namespace galen::device_driver
