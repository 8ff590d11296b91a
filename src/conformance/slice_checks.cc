#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "conformance/check.h"
#include "model/device.h"

namespace galen::conformance {
namespace {

// resource.k8s.io/v1, types.go of 1.37.
constexpr std::size_t kDevicesPerSliceMax = 128;
constexpr std::size_t kDevicesMaxWithTaints = 64;  // or with consumed counters
constexpr std::size_t kAttributesMax = 32;         // with capacities
constexpr std::size_t kTextMax = 64;               // of a string or version attribute
constexpr std::size_t kIdentifierMax = 32;
constexpr std::size_t kTaintsMax = 16;
constexpr std::size_t kLabelMax = 63;

// The slices of each pool, of all nodes.
using Pools = std::map<std::string, std::vector<const Json*>>;

const std::string& NameOfSlice(const Json& slice) { return slice["metadata"]["name"].AsString(); }
const Json& PoolOf(const Json& slice) { return slice["spec"]["pool"]; }

template <typename Judgement>
Outcome WithSlices(const Observations& seen, Judgement judge) {
  const SlicesSeen& slices = seen.slices;
  if (!slices.not_checked.empty()) return NotChecked(slices.not_checked);
  if (slices.slices.empty()) return NotChecked("the driver has published no slice");
  return judge(slices.slices);
}

template <typename Judgement>
Outcome EachPool(const Observations& seen, Judgement fault) {
  return WithSlices(seen, [&](const std::vector<Json>& slices) {
    Pools pools;
    for (const Json& slice : slices) pools[PoolOf(slice)["name"].AsString()].push_back(&slice);
    for (const auto& [pool, members] : pools) {
      const std::string what = fault(members);
      if (!what.empty()) return Failed(fmt::format("pool {}: {}", Shown(pool), what));
    }
    return Passed(Counted(pools.size(), "pool") + ", " + Counted(slices.size(), "slice"));
  });
}

template <typename Judgement>
Outcome EachSlice(const Observations& seen, Judgement fault) {
  return WithSlices(seen, [&](const std::vector<Json>& slices) {
    for (const Json& slice : slices) {
      const std::string what = fault(slice);
      if (!what.empty()) return Failed(fmt::format("{}: {}", Shown(NameOfSlice(slice)), what));
    }
    return Passed(Counted(slices.size(), "slice"));
  });
}

template <typename Judgement>
Outcome EachDevice(const Observations& seen, Judgement fault) {
  return WithSlices(seen, [&](const std::vector<Json>& slices) {
    std::size_t count = 0;
    for (const Json& slice : slices) {
      for (const Json& device : slice["spec"]["devices"].items()) {
        ++count;
        const std::string what = fault(device);
        if (what.empty()) continue;
        return Failed(fmt::format("{} in {}: {}", Shown(device["name"].AsString()),
                                  Shown(NameOfSlice(slice)), what));
      }
    }
    return Passed(Counted(count, "device"));
  });
}

// The only generation that consumers use.
std::int64_t NewestGeneration(const std::vector<const Json*>& slices) {
  std::int64_t newest = 0;
  for (const Json* slice : slices) newest = std::max(newest, PoolOf(*slice)["generation"].AsInt());
  return newest;
}

Outcome JudgeNamesInSlices(const Observations& seen) {
  return EachSlice(seen, [](const Json& slice) {
    return Validate(DeviceId{slice["spec"]["driver"].AsString(), PoolOf(slice)["name"].AsString(),
                             "device"})
        .message();
  });
}

// Older slices remain only for a moment while a pool is written anew.
Outcome JudgeGeneration(const Observations& seen) {
  return EachPool(seen, [](const std::vector<const Json*>& slices) -> std::string {
    const std::int64_t newest = NewestGeneration(slices);
    for (const Json* slice : slices) {
      const std::int64_t generation = PoolOf(*slice)["generation"].AsInt();
      if (generation == newest) continue;
      return fmt::format("{} is of generation {}, the newest is {}", Shown(NameOfSlice(*slice)),
                         generation, newest);
    }
    return "";
  });
}

Outcome JudgeCount(const Observations& seen) {
  return EachPool(seen, [](const std::vector<const Json*>& slices) -> std::string {
    const std::int64_t newest = NewestGeneration(slices);
    const auto members = std::count_if(slices.begin(), slices.end(), [&](const Json* slice) {
      return PoolOf(*slice)["generation"].AsInt() == newest;
    });
    for (const Json* slice : slices) {
      if (PoolOf(*slice)["generation"].AsInt() != newest) continue;
      const std::int64_t count = PoolOf(*slice)["resourceSliceCount"].AsInt();
      if (count == members) continue;
      return fmt::format("{} says {} slices, there are {}", Shown(NameOfSlice(*slice)), count,
                         members);
    }
    return "";
  });
}

Outcome JudgeSize(const Observations& seen) {
  return EachSlice(seen, [](const Json& slice) -> std::string {
    const auto& devices = slice["spec"]["devices"].items();
    const bool heavy = std::any_of(devices.begin(), devices.end(), [](const Json& device) {
      return !device["taints"].items().empty() || !device["consumesCounters"].items().empty();
    });
    const std::size_t most = heavy ? kDevicesMaxWithTaints : kDevicesPerSliceMax;
    if (devices.size() <= most) return "";
    return fmt::format("{} devices, at most {}", devices.size(), most);
  });
}

Outcome JudgeDeviceNames(const Observations& seen) {
  return EachDevice(seen, [](const Json& device) {
    return IsDnsLabel(device["name"].AsString()) ? "" : std::string("the name is no DNS label");
  });
}

Outcome JudgeDevicesUnique(const Observations& seen) {
  return EachPool(seen, [](const std::vector<const Json*>& slices) -> std::string {
    const std::int64_t newest = NewestGeneration(slices);
    std::set<std::string> names;
    for (const Json* slice : slices) {
      if (PoolOf(*slice)["generation"].AsInt() != newest) continue;
      for (const Json& device : (*slice)["spec"]["devices"].items()) {
        if (names.insert(device["name"].AsString()).second) continue;
        return fmt::format("device {} is listed twice", Shown(device["name"].AsString()));
      }
    }
    return "";
  });
}

// The API server refuses others, but the driver may run against an older server that does not.
Outcome JudgePlacement(const Observations& seen) {
  return EachSlice(seen, [](const Json& slice) -> std::string {
    const Json& spec = slice["spec"];
    const int places = int{!spec["nodeName"].AsString().empty()} + int{spec.Has("nodeSelector")} +
                       int{spec["allNodes"].AsBool()} +
                       int{spec["perDeviceNodeSelection"].AsBool()};
    return places == 1
               ? ""
               : fmt::format(
                     "{} of nodeName, nodeSelector, allNodes and perDeviceNodeSelection are set",
                     places);
  });
}

// "name" or "domain/name"; the name is a C identifier.
bool IsQualifiedName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    if (slash > kLabelMax || !IsDnsSubdomain(name.substr(0, slash))) return false;
    name.remove_prefix(slash + 1);
  }
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && name.size() <= kIdentifierMax && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Outcome JudgeAttributes(const Observations& seen) {
  return EachDevice(seen, [](const Json& device) -> std::string {
    const std::size_t count =
        device["attributes"].members().size() + device["capacity"].members().size();
    if (count > kAttributesMax) {
      return fmt::format("{} attributes and capacities, at most {}", count, kAttributesMax);
    }
    for (const char* kind : {"attributes", "capacity"}) {
      for (const auto& [name, value] : device[kind].members()) {
        if (!IsQualifiedName(name)) return fmt::format("{} \"{}\"", kind, Shown(name));
        for (const char* text : {"string", "version"}) {
          if (value[text].AsString().size() > kTextMax) {
            return fmt::format("{} {} is longer than {} bytes", kind, Shown(name), kTextMax);
          }
        }
      }
    }
    return "";
  });
}

// A label's name part or value: alphanumeric ends, "-", "_" and "." between.
bool IsLabelText(std::string_view text) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kLabelMax && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsLabelKey(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelText(key);
  return IsDnsSubdomain(key.substr(0, slash)) && IsLabelText(key.substr(slash + 1));
}

Outcome JudgeTaints(const Observations& seen) {
  return EachDevice(seen, [](const Json& device) -> std::string {
    const auto& taints = device["taints"].items();
    if (taints.size() > kTaintsMax) {
      return fmt::format("{} taints, at most {}", taints.size(), kTaintsMax);
    }
    for (const Json& taint : taints) {
      const std::string &key = taint["key"].AsString(), &value = taint["value"].AsString();
      if (!IsLabelKey(key)) return fmt::format("taint key \"{}\"", Shown(key));
      if (!value.empty() && !IsLabelText(value)) {
        return fmt::format("taint {} has the value \"{}\"", Shown(key), Shown(value));
      }
      const std::string& effect = taint["effect"].AsString();
      if (effect != "None" && effect != "NoSchedule" && effect != "NoExecute") {
        return fmt::format("taint {} has the effect \"{}\"", Shown(key), Shown(effect));
      }
    }
    return "";
  });
}

// The keys "pool/device" of the steady streams' reports.
std::set<std::string> ReportedKeys(const Observations& seen) {
  std::set<std::string> keys;
  for (const StreamSeen& stream : seen.health.steady) {
    for (const HealthReportSeen& report : stream.reports) {
      for (const DeviceHealthSeen& device : report.devices) keys.insert(device.Key());
    }
  }
  return keys;
}

Outcome JudgePublished(const Observations& seen) {
  const SlicesSeen& slices = seen.slices;
  if (!slices.not_checked.empty()) return NotChecked(slices.not_checked);
  if (!slices.slices.empty()) return Passed(Counted(slices.slices.size(), "slice"));
  if (ReportedKeys(seen).empty()) {
    return NotChecked("no slice, and no report of a device: has the driver devices here?");
  }
  return Failed(
      fmt::format("no slice has spec.driver {}, and its health names devices", Shown(seen.driver)));
}

// Only slices of this node: drivers of other nodes report their own.
Outcome JudgeHealthKnown(const Observations& seen) {
  return WithSlices(seen, [&](const std::vector<Json>& slices) {
    const std::set<std::string> reported = ReportedKeys(seen);
    if (reported.empty()) return NotChecked("no health report names a device");
    if (seen.slices.node.empty()) {
      return NotChecked("the driver publishes on several nodes: name this one by --node");
    }
    std::set<std::string> published;
    for (const Json& slice : slices) {
      const std::string& node = slice["spec"]["nodeName"].AsString();
      if (node != seen.slices.node) continue;
      for (const Json& device : slice["spec"]["devices"].items()) {
        published.insert(PoolOf(slice)["name"].AsString() + "/" + device["name"].AsString());
      }
    }
    for (const std::string& key : published) {
      if (!reported.contains(key)) return Failed(Shown(key) + " is published, no report names it");
    }
    for (const std::string& key : reported) {
      if (!published.contains(key)) return Failed(Shown(key) + " is reported, no slice has it");
    }
    return Passed(Counted(published.size(), "device"));
  });
}

}  // namespace

std::vector<Check> SliceChecks() {
  return {
      // The allocator joins a result's driver with the registered name.
      {"slices.published", "The driver has published ResourceSlices by the name it registers with",
       "Set spec.driver to the name that GetInfo answers: claims are matched by it.",
       JudgePublished},
      // resource/v1 validation: DriverNameMaxLength 63, PoolNameMaxLength 253.
      {"slices.names", "Driver and pool names are valid",
       "A driver is a DNS subdomain of at most 63 bytes, a pool DNS subdomains joined by /.",
       JudgeNamesInSlices},
      // resource/v1 ResourcePool.generation: a consumer ignores all but the newest.
      {"slices.generation", "All slices of a pool are of its newest generation",
       "Write every slice of the pool anew when one changes, and delete those of before.",
       JudgeGeneration},
      // resource/v1 ResourcePool.resourceSliceCount: an incomplete pool is not used.
      {"slices.count", "resourceSliceCount is the number of the pool's slices",
       "Schedulers ignore a pool until its newest generation is complete.", JudgeCount},
      // resource/v1 ResourceSliceMaxDevices, …WithTaintsOrConsumesCounters.
      {"slices.size", "A slice has at most 128 devices, 64 with taints or counters",
       "Spread them over several slices of one pool.", JudgeSize},
      // resource/v1 Device.name.
      {"slices.device-names", "Device names are DNS labels",
       "Use lower-case letters, digits and dashes, at most 63.", JudgeDeviceNames},
      // resource/v1 ResourcePool.name: names are unique in the pool, over all its slices.
      {"slices.devices-unique", "A device's name is used once in its pool",
       "Number devices over all slices of the pool.", JudgeDevicesUnique},
      // resource/v1 ResourceSliceSpec: exactly one of the four.
      {"slices.placement", "A slice says in exactly one way which nodes reach it",
       "Set one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection.", JudgePlacement},
      // resource/v1 QualifiedName, DeviceAttributeMaxValueLength and their like.
      {"slices.attributes", "Attributes and capacities are valid",
       "At most 32 together; names are C identifiers of 32 bytes, with a domain of 63 or none; "
       "texts have at most 64 bytes.",
       JudgeAttributes},
      // KEP-5055; DeviceTaintsMaxLength 16.
      {"slices.taints", "Device taints are valid",
       "At most 16; key and value as labels, effect None, NoSchedule or NoExecute.", JudgeTaints},
      // Joined by (pool, device); a device that one side lacks is Unknown, or its health is lost.
      {"slices.health-known", "Health is reported for exactly the devices that this node publishes",
       "Use the same pool and device names in both: a device without a report is Unknown.",
       JudgeHealthKnown},
  };
}

}  // namespace galen::conformance
