// Tested by builtin_rules_test.cc.
#include <array>
#include <utility>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

// In a function: the texts are put in by another file, whose constants may come to life later.
std::array<std::pair<std::string_view, std::string_view>, 14> Tables() {
  return {{{"amd", kAmdRules},
           {"amdgpu", kAmdgpuRules},
           {"dcgm", kDcgmRules},
           {"fpga", kFpgaRules},
           {"gpu", kGpuRules},
           {"hwmon", kHwmonRules},
           {"intel", kIntelRules},
           {"memory", kMemoryRules},
           {"mlx5", kMlx5Rules},
           {"nic", kNicRules},
           {"nvme", kNvmeRules},
           {"nvme-smart", kNvmeSmartRules},
           {"pci", kPciRules},
           {"rdma", kRdmaRules}}};
}

}  // namespace

std::string_view BuiltInRules(std::string_view name) {
  for (const auto& [known, text] : Tables()) {
    if (known == name) return text;
  }
  return "";
}

std::string BuiltInRuleNames() {
  std::string names;
  for (const auto& [name, text] : Tables())
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace galen::probes
