// Tested by builtin_rules_test.cc.
#include <array>
#include <utility>

#include "probes/rules/rule_reader.h"

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

std::vector<SignSpec> BuiltInSigns() {
  std::vector<SignSpec> signs;
  for (const auto& [name, text] : Tables()) {
    // A fault here would be our own: builtin_rules_test reads each.
    const RuleTable table = ParseRules(text, name).value();
    signs.insert(signs.end(), table.signs.begin(), table.signs.end());
  }
  return signs;
}

std::vector<SignSpec> OwnSignsOfBuiltIn(std::string_view name) {
  const RuleTable table = ParseRules(BuiltInRules(name), name).value();
  std::vector<SignSpec> own;
  const RuleTable below = table.extends.empty()
                              ? RuleTable()
                              : ParseRules(BuiltInRules(table.extends), table.extends).value();
  for (const SignSpec& sign : table.signs) {
    const SignSpec* extended = below.FindSign(sign.name);
    if (extended == nullptr || *extended != sign) own.push_back(sign);
  }
  return own;
}

std::string BuiltInRuleNames() {
  std::string names;
  for (const auto& [name, text] : Tables())
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace galen::probes
