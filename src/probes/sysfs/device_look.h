// One look at the files of one device: what each of its signs shows. May block where a file does,
// so it belongs on a thread of its own; it touches nothing but what it is given.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/rules/rule.h"
#include "probes/rules/sign.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

// The reading of a sign. Neither a value nor an error: there is no such file, or the kernel itself
// has no value.
struct SignReading {
  std::string sign{};
  std::optional<double> value{};
  std::optional<double> expected{};
  std::string raw{};                // "aer_dev_fatal: TOTAL_ERR_FATAL 3"
  std::string error{};              // why it cannot be read, or what it holds instead of a number
  std::optional<double> outside{};  // what it holds past the sign's least or most
  // The files that a counter or a sum was made of whose path is a pattern, with their values.
  std::vector<std::pair<std::string, double>> parts{};
  std::vector<std::string> silent{};  // files that the pattern names too, and that have no value

  bool operator==(const SignReading&) const = default;
};

struct DeviceLook {
  bool present = false;  // the directory is there
  std::vector<SignReading> readings{};

  bool operator==(const DeviceLook&) const = default;
};

// Called before each file is read, with the sign and the file below the device's directory: what
// hangs, should it never return.
using BeforeRead = std::function<void(const std::string& sign, const std::string& file)>;

// The signs that have a file, in order. `signs` is lent.
std::vector<const SignSpec*> WithFiles(const std::vector<SignSpec>& signs);

// Reads these signs. REQUIRES: each has a file.
DeviceLook LookAtDevice(const SysfsFiles& files, const std::string& directory,
                        const std::vector<const SignSpec*>& signs, const BeforeRead& before_read);
// The same for one look of many: `directory` carries what stays open from one to the next, and is
// empty where it is not there.
DeviceLook LookAgainAtDevice(const SysfsFiles& files, SysfsDirectory& directory,
                             const std::vector<const SignSpec*>& signs,
                             const BeforeRead& before_read);

// A look as signs of the device: values, and what cannot be read.
std::vector<Sign> SignsOf(const DeviceLook& look, const std::string& device);

// The number in a file's text: of its first line, or of the line that begins with `row`; "16.0 GT/s
// PCIe" is 16, "4: ACTIVE" 4, "0x10" 16. nullopt when there is no such row, or the kernel says that
// it does not know. InvalidArgument for anything else.
StatusOr<std::optional<double>> NumberInFile(std::string_view text, std::string_view row);

}  // namespace galen::probes
