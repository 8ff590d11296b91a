// Says in the log what of the operator's rules watches nothing: a table that is sound may name a
// file or a row that no device has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "driver/edges.h"
#include "galen/driver.h"
#include "probes/recording/shown_signs.h"
#include "probes/rules/sign.h"

namespace galen::device_driver {

// For a table that the operator gave. Belongs to its loop.
class SignWatch {
 public:
  // By then each device has been looked at whole: the slowest poll, or the patience with what hangs
  // and with what a thread reads.
  static constexpr Duration kLooksTake = std::chrono::seconds(12);

  // Whether the kernel's log is read.
  SignWatch(Edges edges, bool reads_kernel_log);

  // Says what is known already, and the rest after kLooksTake with devices.
  void Start();
  void SetDevices(const Inventory& devices);
  void Take(const std::vector<probes::Sign>& signs);
  // What was said of signs, a sentence each.
  const std::vector<std::string>& said() const { return said_; }

 private:
  void NoteKernelLog();
  void Tell();
  void NoteExtended();

  const Edges edges_;
  const bool reads_kernel_log_;
  probes::ShownSigns shown_;
  std::map<std::string, std::string> places_;  // below sysfs's root, or the name; by device
  std::vector<std::string> said_;
  bool told_ = false;
  Timer timer_;
};

}  // namespace galen::device_driver
