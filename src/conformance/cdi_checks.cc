#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "conformance/check.h"
#include "model/cdi_spec.h"

namespace galen::conformance {
namespace {

// The first claim's answer, if it was prepared with devices.
const ClaimEntry* PreparedIn(const Observations& seen) {
  const ClaimsSeen& claims = seen.claims;
  if (!claims.prepare) return nullptr;
  const auto entry = claims.prepare->entries.find(claims.claim.uid);
  if (entry == claims.prepare->entries.end() || !entry->second.error.empty()) return nullptr;
  return &entry->second;
}

std::vector<std::string> IdsOf(const ClaimEntry& entry) {
  std::vector<std::string> ids;
  for (const PreparedDeviceSeen& device : entry.devices) {
    ids.insert(ids.end(), device.cdi_ids.begin(), device.cdi_ids.end());
  }
  return ids;
}

std::string WhyNoIds(const Observations& seen) {
  if (seen.read_only) return "read-only: no claim was prepared";
  if (!seen.claims.not_checked.empty()) return seen.claims.not_checked;
  return seen.claims.no_claim.empty() ? "no claim was prepared" : seen.claims.no_claim;
}

// A judgement of the ids that prepare answered.
template <typename Judgement>
Outcome WithIds(const Observations& seen, Judgement judge) {
  const ClaimEntry* entry = PreparedIn(seen);
  if (entry == nullptr) return NotChecked(WhyNoIds(seen));
  const std::vector<std::string> ids = IdsOf(*entry);
  if (ids.empty()) return NotChecked("the driver answers no CDI ids: its containers get nothing");
  return judge(*entry, ids);
}

bool Defines(const CdiSpec& spec, const std::string& id) {
  return std::any_of(spec.devices.begin(), spec.devices.end(),
                     [&](const std::string& device) { return spec.kind + "=" + device == id; });
}

// Whether a file is this driver's: by its name, its vendor, or an id that the driver answered.
bool IsOurs(const CdiSpec& spec, const std::string& driver, const std::vector<std::string>& ids) {
  if (std::filesystem::path(spec.path).filename().string().find(driver) != std::string::npos) {
    return true;
  }
  if (spec.kind.starts_with(driver + "/")) return true;
  return std::any_of(ids.begin(), ids.end(),
                     [&](const std::string& id) { return Defines(spec, id); });
}

// A judgement of the driver's own files.
template <typename Judgement>
Outcome WithSpecs(const Observations& seen, Judgement judge) {
  if (!seen.cdi.not_checked.empty()) return NotChecked(seen.cdi.not_checked);
  const ClaimEntry* entry = PreparedIn(seen);
  const std::vector<std::string> ids =
      entry == nullptr ? std::vector<std::string>() : IdsOf(*entry);
  std::vector<const CdiSpec*> ours;
  for (const CdiSpec& spec : seen.cdi.specs) {
    if (!seen.driver.empty() && IsOurs(spec, seen.driver, ids)) ours.push_back(&spec);
  }
  if (ours.empty()) {
    return NotChecked(
        fmt::format("no file of this driver in {}", fmt::join(seen.cdi.directories, ", ")));
  }
  return judge(ours);
}

// Judges each file of the driver; `fault` gives "" or what is wrong with it.
template <typename Fault>
Outcome EachSpec(const Observations& seen, Fault fault) {
  return WithSpecs(seen, [&](const std::vector<const CdiSpec*>& specs) {
    std::size_t judged = 0;
    for (const CdiSpec* spec : specs) {
      if (!spec->unreadable.empty()) continue;
      ++judged;
      const std::string what = fault(*spec);
      if (!what.empty()) return Failed(fmt::format("{}: {}", Shown(spec->path), what));
    }
    return judged == 0 ? NotChecked("none of the driver's files can be read")
                       : Passed(Counted(judged, "file"));
  });
}

Outcome JudgeIdForm(const Observations& seen) {
  return WithIds(seen, [](const ClaimEntry&, const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      if (const auto parsed = ParseCdiId(id); !parsed.ok()) {
        return Failed(fmt::format("{}: {}", Shown(id), parsed.status().message()));
      }
    }
    return Passed(Shown(ids.front()));
  });
}

// Only first ids must differ: a second one may well be shared, as for a common device node.
Outcome JudgeIdsUnique(const Observations& seen) {
  return WithIds(seen, [](const ClaimEntry& entry, const std::vector<std::string>&) {
    std::map<std::string, std::string> first_ids;
    for (const PreparedDeviceSeen& device : entry.devices) {
      if (device.cdi_ids.empty()) continue;
      const auto [it, added] =
          first_ids.emplace(device.cdi_ids.front(), device.pool + "/" + device.device);
      const bool repeated =
          std::set<std::string>(device.cdi_ids.begin(), device.cdi_ids.end()).size() !=
          device.cdi_ids.size();
      if (!added || repeated) {
        return Failed(fmt::format("{} more than once", Shown(device.cdi_ids.front())));
      }
    }
    return Passed(Counted(first_ids.size(), "device"));
  });
}

Outcome JudgeIdsExist(const Observations& seen) {
  return WithIds(seen, [&](const ClaimEntry&, const std::vector<std::string>& ids) {
    if (!seen.cdi.not_checked.empty()) return NotChecked(seen.cdi.not_checked);
    for (const std::string& id : ids) {
      const bool there = std::any_of(seen.cdi.specs.begin(), seen.cdi.specs.end(),
                                     [&](const CdiSpec& spec) { return Defines(spec, id); });
      if (there) continue;
      return Failed(fmt::format("{} is in none of the {} files of {}", Shown(id),
                                seen.cdi.specs.size(), fmt::join(seen.cdi.directories, ", ")));
    }
    return Passed(Counted(ids.size(), "id"));
  });
}

Outcome JudgeConflict(const Observations& seen) {
  return WithIds(seen, [&](const ClaimEntry&, const std::vector<std::string>& ids) {
    if (!seen.cdi.not_checked.empty()) return NotChecked(seen.cdi.not_checked);
    for (const std::string& id : ids) {
      // A later directory overrides an earlier one; within one, two are a conflict.
      std::map<std::string, std::string> by_directory;
      for (const CdiSpec& spec : seen.cdi.specs) {
        if (!Defines(spec, id)) continue;
        const std::string directory = std::filesystem::path(spec.path).parent_path().string();
        const auto [it, added] = by_directory.emplace(directory, spec.path);
        if (!added) {
          return Failed(
              fmt::format("{} is in {} and in {}", Shown(id), Shown(it->second), Shown(spec.path)));
        }
      }
    }
    return Passed();
  });
}

Outcome JudgeReadable(const Observations& seen) {
  return WithSpecs(seen, [](const std::vector<const CdiSpec*>& specs) {
    for (const CdiSpec* spec : specs) {
      if (spec->unreadable.empty()) continue;
      return Failed(fmt::format("{}: {}", Shown(spec->path), Shown(spec->unreadable)));
    }
    return Passed(Counted(specs.size(), "file"));
  });
}

Outcome JudgeVersion(const Observations& seen) {
  return EachSpec(seen, [](const CdiSpec& spec) -> std::string {
    if (IsCdiVersion(spec.cdi_version)) return "";
    return fmt::format("cdiVersion \"{}\"", Shown(spec.cdi_version));
  });
}

// A runtime refuses a file whose version is too low for what it uses; an older runtime may silently
// ignore that part.
Outcome JudgeLeastVersion(const Observations& seen) {
  return EachSpec(seen, [](const CdiSpec& spec) -> std::string {
    if (IsCdiVersionEnough(spec)) return "";
    return fmt::format("cdiVersion {}, and what it uses came with {}", spec.cdi_version,
                       spec.least_version);
  });
}

Outcome JudgeKind(const Observations& seen) {
  return EachSpec(seen, [](const CdiSpec& spec) -> std::string {
    if (IsCdiKind(spec.kind)) return "";
    return fmt::format("kind \"{}\"", Shown(spec.kind));
  });
}

Outcome JudgeContents(const Observations& seen) {
  return EachSpec(seen, [](const CdiSpec& spec) -> std::string {
    std::vector<std::string> all = spec.faults;
    all.insert(all.end(), spec.relative_paths.begin(), spec.relative_paths.end());
    return fmt::format("{}", fmt::join(all, "; "));
  });
}

}  // namespace

std::vector<Check> CdiChecks() {
  return {
      // CDI SPEC.md, "CDI Devices": vendor/class=name.
      {"cdi.id-form", "CDI ids are vendor/class=name",
       "Use the characters of the CDI specification; runtimes refuse others.", JudgeIdForm},
      // manager.go, buildResourceHealth: resourceID is the first id; the list is a map by it.
      {"cdi.ids-unique", "Each device has a first CDI id of its own",
       "The kubelet shows a device on the Pod by its first id: equal ones become one entry.",
       JudgeIdsUnique},
      // A runtime resolves ids when the container is made, right after prepare.
      {"cdi.ids-exist", "The ids that prepare answers are in the CDI directory",
       "Write the file before answering, into a directory that the runtime reads (/var/run/cdi or "
       "/etc/cdi); --cdi-root names another.",
       JudgeIdsExist},
      // pkg/cdi/cache.go: of equal priority they are a conflict, and neither resolves.
      {"cdi.no-conflict", "No two files of a directory define the same id",
       "Give each claim its own device names: a runtime refuses ids that conflict.", JudgeConflict},
      // Runtimes read .json and .yaml; half a file is an error that a person must find.
      {"cdi.readable", "The driver's CDI files are JSON or YAML",
       "Write them whole: to a temporary name, then rename.", JudgeReadable},
      // pkg/cdi/version.go: anything else is refused.
      {"cdi.version", "cdiVersion is a version", "Write it as three numbers: 0.6.0.", JudgeVersion},
      // pkg/cdi/version.go, MinimumRequiredVersion.
      {"cdi.least-version", "cdiVersion is at least what the file uses",
       "Raise cdiVersion: hostPath and digits in front need 0.5.0, annotations 0.6.0, intelRdt "
       "and additionalGids 0.7.0, netDevices 1.1.0.",
       JudgeLeastVersion},
      // pkg/parser/parser.go.
      {"cdi.kind", "kind is vendor/class", "Use your domain and a class: gpu.example.com/claim.",
       JudgeKind},
      // pkg/cdi/device.go ("invalid device, empty device edits") and container-edits.go.
      {"cdi.contents", "Devices and edits are valid",
       "A runtime refuses the whole file for one of these, or the container fails on it: every "
       "device needs a valid name and at least one edit, every edit its fields, paths from the "
       "root.",
       JudgeContents},
  };
}

}  // namespace galen::conformance
