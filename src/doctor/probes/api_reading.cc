#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "doctor/probes/api_probe.h"
#include "kube/objects/resource_claim.h"

namespace galen::doctor {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<ConditionSeen> ReadyOf(const Json& object) {
  for (const Json& condition : object["status"]["conditions"].items()) {
    if (condition["type"].AsString() != "Ready") continue;
    return ConditionSeen{.status = condition["status"].AsString(),
                         .reason = condition["reason"].AsString(),
                         .message = condition["message"].AsString()};
  }
  return std::nullopt;
}

// "Sat, 21 Nov 2026 22:17:02 GMT", the only form that servers send today.
StatusOr<WallTime> ReadDate(std::string_view date) {
  const auto month = date.size() == 29
                         ? std::find(kMonths.begin(), kMonths.end(), date.substr(8, 3))
                         : kMonths.end();
  if (month == kMonths.end()) return InvalidArgument("the server's Date is no date");
  return ParseRfc3339(fmt::format("{}-{:02}-{}T{}Z", date.substr(12, 4),
                                  month - kMonths.begin() + 1, date.substr(5, 2),
                                  date.substr(17, 8)));
}

bool NamesAgent(std::string_view text) { return text.find("galen-agent") != std::string::npos; }

bool RunsAgent(const Json& pod) {
  for (const Json& container : pod["spec"]["containers"].items()) {
    if (NamesAgent(container["name"].AsString())) return true;
    for (const char* list : {"command", "args"}) {
      for (const Json& word : container[list].items()) {
        if (NamesAgent(word.AsString())) return true;
      }
    }
  }
  return NamesAgent(pod["metadata"]["labels"]["app.kubernetes.io/name"].AsString());
}

// Whether an allocation is for `node` alone, as the scheduler writes it for slices with a nodeName.
bool IsFor(const Json& allocation, const std::string& node) {
  for (const Json& term : allocation["nodeSelector"]["nodeSelectorTerms"].items()) {
    for (const Json& field : term["matchFields"].items()) {
      const Json::Array& values = field["values"].items();
      if (field["key"].AsString() == "metadata.name" && values.size() == 1 &&
          values[0].AsString() == node) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

StatusOr<KubernetesVersion> ReadVersion(const Json& version) {
  const std::optional<KubernetesVersion> read = ParseVersion(version["gitVersion"].AsString());
  if (!read) return DataLoss("/version gives no version; is it a Kubernetes API?");
  return *read;
}

StatusOr<ClockSeen> ReadClock(std::string_view date, WallTime asked, WallTime answered) {
  ASSIGN_OR_RETURN(const WallTime whole, ReadDate(date));
  // The header has whole seconds, rounded down: half a second is missing on average.
  constexpr Duration kHalf = std::chrono::milliseconds(500);
  const Duration trip = answered - asked;
  return ClockSeen{.ahead = asked + trip / 2 - (whole + kHalf), .uncertainty = kHalf + trip / 2};
}

std::set<std::string> ReadGroupVersions(const Json& group) {
  std::set<std::string> versions;
  for (const Json& version : group["versions"].items()) {
    versions.insert(version["version"].AsString());
  }
  return versions;
}

NodeSeen ReadNode(const Json& node) {
  NodeSeen seen{.kubelet_version = node["status"]["nodeInfo"]["kubeletVersion"].AsString(),
                .ready = ReadyOf(node)};
  for (const auto& [label, value] : node["metadata"]["labels"].members()) {
    if (label.starts_with("feature.node.kubernetes.io/")) seen.labels[label] = value.AsString();
  }
  return seen;
}

LeaseSeen ReadLease(const Json& lease) {
  LeaseSeen seen{.renewed = kube::DecodeTime(lease["spec"]["renewTime"])};
  const std::int64_t holds = lease["spec"]["leaseDurationSeconds"].AsInt();
  if (holds > 0) seen.holds = std::chrono::seconds(holds);
  return seen;
}

StatusOr<PodSeen> ReadPod(const Json& object) {
  ASSIGN_OR_RETURN(kube::Pod pod, kube::DecodePod(object));
  PodSeen seen{.pod = std::move(pod),
               .finalizers = {},
               .service_account = object["spec"]["serviceAccountName"].AsString(),
               .runs_agent = RunsAgent(object)};
  ReadPlace(object["spec"], seen);
  for (const Json& finalizer : object["metadata"]["finalizers"].items()) {
    seen.finalizers.push_back(finalizer.AsString());
  }
  return seen;
}

StatusOr<ClaimSeen> ReadClaim(const Json& object, const std::string& node) {
  ASSIGN_OR_RETURN(Claim claim, kube::DecodeClaim(object));
  return ClaimSeen{.claim = std::move(claim), .here = IsFor(object["status"]["allocation"], node)};
}

SlicePlace ReadSlicePlace(const Json& slice) {
  const Json& spec = slice["spec"];
  return {.name = slice["metadata"]["name"].AsString(),
          .driver = spec["driver"].AsString(),
          .node = spec["nodeName"].AsString(),
          .pool = spec["pool"]["name"].AsString(),
          .generation = spec["pool"]["generation"].AsInt()};
}

NodeHealthSeen ReadNodeHealth(const Json& object) { return {.ready = ReadyOf(object)}; }

bool ReadAllowed(const Json& review) { return review["status"]["allowed"].AsBool(); }

void MarkClaimsHere(std::vector<ClaimSeen>& claims,
                    const std::vector<kube::ResourceSlice>& slices) {
  std::set<std::pair<std::string, std::string>> pools;
  for (const kube::ResourceSlice& slice : slices) pools.emplace(slice.driver, slice.pool);
  for (ClaimSeen& claim : claims) {
    const std::vector<AllocatedDevice>& devices = claim.claim.devices;
    claim.here = claim.here || (!devices.empty() &&
                                std::ranges::all_of(devices, [&](const AllocatedDevice& device) {
                                  return pools.contains({device.device.driver, device.device.pool});
                                }));
  }
}

std::vector<PodRef> FarPods(const std::vector<ClaimSeen>& claims,
                            const std::vector<PodSeen>& pods) {
  std::set<std::string> known;
  for (const PodSeen& pod : pods) known.insert(pod.pod.meta.uid);
  std::vector<PodRef> far;
  for (const ClaimSeen& claim : claims) {
    if (!claim.here) continue;
    for (const PodRef& ref : claim.claim.reserved_for) {
      if (known.insert(ref.uid).second) far.push_back(ref);
    }
  }
  return far;
}

}  // namespace galen::doctor
