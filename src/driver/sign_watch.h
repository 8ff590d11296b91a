// Warns of what of the operator's rules watches nothing: a table that is sound may name a
// file or a row that no device has.
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
  // So long after a device was first read it has shown all: the slowest poll, or the patience with
  // what a thread reads.
  static constexpr Duration kLooksTake = std::chrono::seconds(12);

  // Whether the kernel's log is read.
  SignWatch(Edges edges, bool reads_kernel_log);

  // Warns of what is known already; of the rest as devices have been looked at.
  void Start();
  void SetDevices(const Inventory& devices);
  // Another table with the same signs, lent until the next.
  void SetRules(const probes::RuleTable& rules);
  void Take(const std::vector<probes::Sign>& signs);
  // What watches nothing at present, a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  struct Watched {
    std::string place;           // below sysfs's root, or the name
    std::optional<Time> read{};  // first; one that hangs was not looked at
  };

  // By name, those that have been looked at for kLooksTake.
  std::vector<std::string> LookedAt() const;
  // Rules that look at the kernel's log, which is not read.
  std::vector<std::string> WithoutKernelLog() const;
  bool IsLook(const probes::Sign& sign) const;
  void WarnOfKernelLog();
  // Warns of what was not known before, and waits for the devices that are left.
  void Warn();
  void WarnOfExtended(const std::vector<std::string>& devices);

  const Edges edges_;
  const bool reads_kernel_log_;
  const probes::RuleTable* rules_;
  probes::ShownSigns shown_;
  std::map<std::string, Watched, std::less<>> devices_;
  std::set<std::string> warned_signs_, warned_devices_;
  bool warned_of_kernel_log_ = false;
  bool complete_ = false;  // nothing is missed: no need to note what more is shown
  Timer timer_;            // runs while a device that was read is not judged
};

}  // namespace galen::device_driver
