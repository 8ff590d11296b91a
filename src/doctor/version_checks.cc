// Whether the parts of a node fit together: kernel modules, libraries, firmware and devices.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// A module without libraries: the driver is installed where we do not look. Libraries without a
// module: nothing has needed a GPU yet, or there is none.
Outcome JudgeNvidia(const Observations& seen) {
  if (!seen.host.nvidia.ok()) return Unknown(seen.host.nvidia.status());
  const NvidiaSeen& nvidia = *seen.host.nvidia;
  const std::string libraries =
      fmt::format("libraries below {}: {}", Shown(nvidia.root), fmt::join(nvidia.libraries, ", "));
  if (nvidia.module.empty() && nvidia.libraries.empty()) return Healthy("no driver of NVIDIA");
  if (nvidia.module.empty()) return Healthy("no kernel module is loaded; " + libraries);
  std::string module = "kernel module " + nvidia.module;
  if (nvidia.libraries.empty()) {
    return Unknown(module + "; its libraries are not seen from here: run this on the node");
  }
  std::string text = module + "; " + libraries;
  const bool fits = std::ranges::find(nvidia.libraries, nvidia.module) != nvidia.libraries.end();
  if (!fits) return Bad(std::move(text));
  return nvidia.libraries.size() == 1 ? Healthy(std::move(text)) : Warning(std::move(text));
}

// How the expected devices are called, as a phrase.
std::string PhraseOf(const ExpectedDevices& wanted) {
  if (!wanted.pci.empty()) return "PCI devices " + Shown(wanted.pci);
  return Shown(wanted.model) + (wanted.driver.empty() ? "" : " of " + Shown(wanted.driver));
}

// Names the addresses at which a device was expected and is missing.
std::string MissingOf(const ExpectedDevices& wanted, const std::set<std::string>& there) {
  std::vector<std::string> missing;
  for (const std::string& address : wanted.addresses) {
    if (!there.contains(address)) missing.push_back(Shown(address));
  }
  return missing.empty() ? "" : "; missing: " + fmt::format("{}", fmt::join(missing, ", "));
}

// How many a driver publishes here; devices of a pool's older slices count once.
std::size_t CountPublished(const std::vector<kube::ResourceSlice>& slices,
                           const ExpectedDevices& wanted) {
  std::set<std::pair<std::string, std::string>> names;
  for (const kube::ResourceSlice& slice : slices) {
    if (!wanted.driver.empty() && slice.driver != wanted.driver) continue;
    for (const kube::SliceDevice& device : slice.devices) {
      if (kube::IdentityOf(slice, device).model != wanted.model) continue;
      names.emplace(slice.pool, device.name);
    }
  }
  return names.size();
}

// Judges one row. Unknown if it could not be looked at, whatever is expected.
Outcome JudgeRow(const Observations& seen, const ExpectedDevices& wanted) {
  std::size_t count = 0;
  std::string missing;
  if (!wanted.pci.empty()) {
    if (!seen.expected->pci.ok()) return Unknown(seen.expected->pci.status());
    const auto there = seen.expected->pci->find(wanted.pci);
    const std::set<std::string> none;
    const std::set<std::string>& found = there == seen.expected->pci->end() ? none : there->second;
    count = found.size();
    missing = MissingOf(wanted, found);
  } else {
    if (!seen.api.slices.ok()) return Unknown(seen.api.slices.status());
    count = CountPublished(*seen.api.slices, wanted);
  }
  std::string text = fmt::format("{} of {} {}{}", count, wanted.count, PhraseOf(wanted), missing);
  const auto expected = static_cast<std::size_t>(wanted.count);
  if (count < expected || !missing.empty()) return Bad(std::move(text));
  return count > expected ? Warning(std::move(text)) : Healthy(std::move(text));
}

// The worst level of all rows, with that level's sentences.
Outcome WorstOf(const std::vector<Outcome>& outcomes) {
  Level worst = Level::kGood;
  std::vector<std::string> said;
  for (const Outcome& outcome : outcomes) {
    if (outcome.level > worst) said.clear();
    worst = std::max(worst, outcome.level);
    if (outcome.level == worst) said.push_back(outcome.seen);
  }
  return {worst, Listed(said)};
}

constexpr char kNothingExpected[] = "nothing is expected: --expect names a file that says what is";

Outcome JudgeDevices(const Observations& seen) {
  if (!seen.expected.ok()) return Unknown(seen.expected.status());
  std::vector<Outcome> outcomes;
  for (const ExpectedDevices& wanted : seen.expected->wanted.devices) {
    outcomes.push_back(JudgeRow(seen, wanted));
  }
  return outcomes.empty() ? Healthy(kNothingExpected) : WorstOf(outcomes);
}

Outcome JudgeFirmwareVersion(const ExpectedFirmware& wanted, const std::string& where,
                             const std::string& version) {
  const bool fits = std::ranges::find(wanted.versions, version) != wanted.versions.end();
  if (fits) return Healthy(where + " " + Shown(version));
  return Warning(fmt::format("{} is {}, expected {}", where, Shown(version),
                             Shown(fmt::format("{}", fmt::join(wanted.versions, " or ")))));
}

// A version attribute and a text are compared alike.
std::string TextOf(const kube::AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* version = std::get_if<kube::Version>(&value)) return version->text;
  return "";
}

void JudgePublished(const Observations& seen, const ExpectedFirmware& wanted,
                    std::vector<Outcome>& outcomes) {
  if (!seen.api.slices.ok()) return outcomes.push_back(Unknown(seen.api.slices.status()));
  bool any = false;
  for (const kube::ResourceSlice& slice : *seen.api.slices) {
    if (slice.driver != wanted.driver) continue;
    for (const kube::SliceDevice& device : slice.devices) {
      const auto value = device.attributes.find(wanted.attribute);
      if (value == device.attributes.end()) continue;
      any = true;
      outcomes.push_back(JudgeFirmwareVersion(wanted, Shown(device.name), TextOf(value->second)));
    }
  }
  if (any) return;
  outcomes.push_back(Unknown(fmt::format("no device of {} here has the attribute {}",
                                         Shown(wanted.driver), Shown(wanted.attribute))));
}

Outcome JudgeFirmware(const Observations& seen) {
  if (!seen.expected.ok()) return Unknown(seen.expected.status());
  std::vector<Outcome> outcomes;
  for (const ExpectedFirmware& wanted : seen.expected->wanted.firmware) {
    if (wanted.files.empty()) {
      JudgePublished(seen, wanted, outcomes);
      continue;
    }
    const auto found = seen.expected->firmware.find(wanted.files);
    if (found == seen.expected->firmware.end() || found->second.empty()) {
      outcomes.push_back(Unknown("there is no /sys/" + Shown(wanted.files)));
      continue;
    }
    for (const FirmwareSeen& file : found->second) {
      outcomes.push_back(file.version.ok() ? JudgeFirmwareVersion(
                                                 wanted, "/sys/" + Shown(file.path), *file.version)
                                           : Unknown(file.version.status()));
    }
  }
  return outcomes.empty() ? Healthy(kNothingExpected) : WorstOf(outcomes);
}

// An image fits if one of its sets does: several sets are alternatives.
Outcome JudgeImage(const Observations& seen) {
  if (!seen.image.ok()) return Unknown(seen.image.status());
  if (seen.image->needs.empty()) {
    return Healthy("no image is asked about: --compatibility names a document of one");
  }
  NodeFeatures features = seen.image->features;
  if (seen.api.node.ok()) features.labels = seen.api.node->labels;
  std::vector<std::string> unfit, unknown;
  for (std::size_t i = 0; i < seen.image->needs.size(); ++i) {
    const CompatibilitySet& set = seen.image->needs[i];
    const Fitting fitting = FitOf(set, features);
    const std::string name =
        set.description.empty() ? fmt::format("set {}", i + 1) : '"' + Shown(set.description) + '"';
    if (fitting.fit == Fit::kYes) return Healthy("fits " + name);
    std::vector<std::string>& list = fitting.fit == Fit::kNo ? unfit : unknown;
    list.push_back(fmt::format("{}: rule {}", name, Shown(fitting.why)));
  }
  if (unknown.empty()) return Bad(Listed(unfit));
  return Unknown(Listed(unknown) + " asks for features that are not seen from here");
}

}  // namespace

std::vector<Check> VersionChecks() {
  return {
      {"versions.nvidia", Level::kBad, "NVIDIA's kernel module and libraries are of one version",
       "Programs that start cannot use a GPU, and new claims are refused; those that run go on. "
       "The GPUs themselves are well: their reason is DriverMismatch. With libraries of two "
       "versions it is chance which one a program gets.",
       "Drain the node and load the module of the installed libraries, or start the node anew; "
       "remove libraries of another version.",
       JudgeNvidia},
      {"versions.devices", Level::kBad, "The node has the devices that its operator expects",
       "A device that is gone does not show as broken anywhere: the node has less to offer.",
       "Look at the kernel's log and at lspci; start the node anew, then have the slot looked at. "
       "If the node is meant to be so, change the file.",
       JudgeDevices},
      {"versions.firmware", Level::kWarning,
       "Devices have the firmware that their operator expects",
       "Drivers and peers are tried with certain versions of firmware: with others devices may "
       "fail in ways that look like broken hardware.",
       "Install the expected version on a drained node, or change the file.", JudgeFirmware},
      {"versions.image", Level::kBad, "The node has what the image needs",
       "Programs of the image do not start here, or fail when they use what is missing.",
       "Look at the rule that is named: load the module or update what it asks for, or keep such "
       "Pods away by node affinity.",
       JudgeImage},
  };
}

}  // namespace galen::doctor
