// Knows which signs of a table devices have shown. A device need not have each file, so that a file
// or a row that is misspelt is no error: its rules would watch nothing, and nobody would know.
// Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// A sign that rules look at, and that no device shows; or shows without what it is compared with.
struct UnshownSign {
  // Who would show it: a file, or the driver itself.
  enum class Source { kFile, kDriver };

  std::string sign{};
  std::string rules{};  // ids: "hot, hotter"
  bool several_rules = false;
  Source source = Source::kFile;
  std::string looked_for{};  // "file temp1_inptu", "row ce of file errors"

  bool operator==(const UnshownSign&) const = default;
};

// "no device of the recording shows the sign heat, which rule hot looks at: looked for file
// temp1_inptu"; `where` follows "no device".
std::string UnshownText(const UnshownSign& sign, std::string_view where);

// Knows the operator's own signs only. Those of built-in tables are looked for on any device, and
// many have only some of them.
class ShownSigns {
 public:
  explicit ShownSigns(const RuleTable& rules) { SetRules(rules); }
  // Another table with the same signs; what was shown stays.
  void SetRules(const RuleTable& rules);

  // Takes a sign that a device showed; one that cannot be read counts as shown.
  void Take(const Sign& sign);
  // The operator's own signs that nothing showed: readings and counters that rules look at. Events
  // happen when they happen, and commands and exporters say themselves what fails.
  std::vector<UnshownSign> Unshown() const;
  // Those of the devices that show no file of the built-in table which the operator's file extends.
  // Empty where that table reads no files of its own.
  std::vector<std::string> WithoutExtended(const std::vector<std::string>& devices) const;

 private:
  // A sign that is looked for, with the ids of the rules that look at it, and of those that hold it
  // against what its file says to expect.
  struct Own {
    SignSpec spec{};
    std::vector<std::string> rules{}, with_expected{};
  };

  std::vector<Own> own_;
  std::set<std::string, std::less<>> shown_, expected_;  // signs, and those with what to expect
  std::set<std::string, std::less<>> of_extended_;       // files of the table that is extended
  std::set<std::string, std::less<>> with_extended_;     // devices that showed one of these
};

}  // namespace galen::probes
