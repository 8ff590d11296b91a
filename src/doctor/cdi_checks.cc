#include <fmt/ranges.h>

#include <map>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// Judges the files, if they could be read.
template <typename Judgement>
Outcome WithFiles(const Observations& seen, Judgement judge) {
  if (!seen.cdi.files.ok()) return Unknown(seen.cdi.files.status());
  return judge(*seen.cdi.files);
}

// Files of all vendors count: a runtime that fails on one file fails for all.
Outcome JudgeSpecs(const Observations& seen) {
  return WithFiles(seen, [](const std::vector<CdiFile>& files) {
    std::vector<std::string> found;
    for (const CdiFile& file : files) {
      if (!file.fault.empty()) {
        found.push_back(fmt::format("{}: {}", Shown(file.path), Shown(file.fault)));
      }
    }
    return Judged(Level::kBad, found, Counted(files.size(), "file"));
  });
}

// By full id: two vendors may both have a device "0".
Outcome JudgeDuplicateCdiDevices(const Observations& seen) {
  return WithFiles(seen, [](const std::vector<CdiFile>& files) {
    std::map<std::string, std::string> paths;
    std::vector<std::string> found;
    for (const CdiFile& file : files) {
      for (const std::string& id : file.ids) {
        const auto [first, fresh] = paths.emplace(id, file.path);
        if (fresh) continue;
        found.push_back(
            fmt::format("{} is in {} and {}", Shown(id), Shown(first->second), Shown(file.path)));
      }
    }
    return Judged(Level::kBad, found, Counted(paths.size(), "device"));
  });
}

// The ids that the driver answered and the kubelet recorded.
Outcome JudgeMissingCdiDevices(const Observations& seen) {
  if (!seen.kubelet.prepared.ok()) return Unknown(seen.kubelet.prepared.status());
  return WithFiles(seen, [&](const std::vector<CdiFile>& files) {
    std::set<std::string> defined;
    for (const CdiFile& file : files) defined.insert(file.ids.begin(), file.ids.end());
    std::vector<std::string> found;
    std::size_t judged = 0;
    for (const CheckpointedClaim& claim : *seen.kubelet.prepared) {
      for (const std::string& id : claim.cdi_ids) {
        ++judged;
        if (defined.contains(id)) continue;
        found.push_back(fmt::format("{} of claim {} is in no file of {}", Shown(id),
                                    Shown(ToString(claim.key)),
                                    fmt::join(seen.cdi.directories, ", ")));
      }
    }
    return Judged(Level::kBad, found, Counted(judged, "id") + " in use");
  });
}

}  // namespace

std::vector<Check> CdiChecks() {
  return {
      // container-device-interface, SPEC.md; runtimes skip a file that is not valid.
      {"cdi.specs", Level::kBad, "Each file of the CDI directories is a valid specification",
       "Container runtimes leave the whole file out: containers with its devices do not start.",
       "Let its driver write it anew (unprepare and prepare), or remove it.", JudgeSpecs},
      {"cdi.duplicates", Level::kBad, "Each CDI device is defined once",
       "Runtimes refuse a device that two files of one directory define; of two directories the "
       "later one wins.",
       "Remove the file that an earlier driver left.", JudgeDuplicateCdiDevices},
      {"cdi.missing", Level::kBad, "Each CDI device of a prepared claim is defined",
       "Its container does not start, or not again after a restart: /var/run is empty after a "
       "boot.",
       "Start the driver again, then the Pod. If the files lie elsewhere, name the directory with "
       "--cdi-root.",
       JudgeMissingCdiDevices},
  };
}

}  // namespace galen::doctor
