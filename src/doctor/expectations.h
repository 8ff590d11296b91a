// What an operator expects of a node: its devices and their firmware. Read from the operator's file
// (docs/formats/expectations.md); values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"

namespace galen::doctor {

// A number of devices of one kind. Counted in ResourceSlices where `model` is set, else in sysfs.
struct ExpectedDevices {
  std::string model{};                   // as a driver publishes it: "NVIDIA H100 80GB HBM3"
  std::string driver{};                  // with `model`; "" = any
  std::string pci{};                     // vendor and device as in sysfs: "10de:2330"
  std::vector<std::string> addresses{};  // with `pci`, where they are to be; empty: anywhere
  std::int64_t count = 0;
};

// The firmware of one kind of device: in files below /sys where `files` is set, else in an
// attribute that a driver publishes.
struct ExpectedFirmware {
  std::string files{};      // "class/infiniband/mlx5_*/fw_ver"; stars stand within one name
  std::string driver{};     // with `attribute`
  std::string attribute{};  // "firmwareVersion"
  std::vector<std::string> versions{};  // any of these is right
};

// The whole file.
struct Expectations {
  std::vector<ExpectedDevices> devices{};
  std::vector<ExpectedFirmware> firmware{};
};

inline constexpr std::size_t kExpectationsMax = 100;  // rows of each list
inline constexpr std::size_t kExpectationBytesMax = 256 * 1024;

// OK when `row`, of this or another file of an operator's, has a list under that name, or nothing.
// Else InvalidArgument: any other value would read as an empty list, and pass unchecked.
Status CheckList(const Json& row, const char* name);

// InvalidArgument names the first row that is wrong, and how it should be.
StatusOr<Expectations> ReadExpectations(std::string_view text);

}  // namespace galen::doctor
