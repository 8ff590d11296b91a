#include "agent/publish/run_patch.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/publish/pod_patch.h"
#include "base/time.h"

namespace galen::agent {
namespace {

constexpr std::string_view kLists[] = {"containerStatuses", "initContainerStatuses"};

const Json& FindBy(const Json& list, std::string_view member, const std::string& value) {
  static const Json kNone;
  for (const Json& item : list.items()) {
    if (item[member].AsString() == value) return item;
  }
  return kNone;
}

// The list as it is to be, with the devices that the present one tells: these are another's word.
Json WithAllocated(Json list, const Json& present) {
  for (Json& status : list.MutableItems()) {
    const Json& before = FindBy(present, "name", status["name"].AsString());
    if (before.Has("allocatedResourcesStatus")) {
      status["allocatedResourcesStatus"] = before["allocatedResourcesStatus"];
    }
  }
  return list;
}

// nullopt when `present` says the same. The time of the transition moves with the status alone.
std::optional<Json> ConditionPatch(const Json& present, const Json& wanted, WallTime now) {
  bool same = true;
  for (const auto& [name, value] : wanted.members()) {
    same &= present[name].AsString() == value.AsString();
  }
  if (same) return std::nullopt;
  Json condition = wanted;
  const bool kept = present["status"] == wanted["status"] && present.Has("lastTransitionTime");
  condition["lastTransitionTime"] = kept ? present["lastTransitionTime"] : Json(FormatRfc3339(now));
  // An empty text is written only to take an earlier one away.
  for (const std::string_view text : {"reason", "message"}) {
    if (wanted[text].AsString().empty() && present[text].AsString().empty()) condition.Erase(text);
  }
  return condition;
}

// What `run` adds to the status that the device findings have left to write.
void PutRun(const Json& present, const Json& merged, const Json& run, WallTime now, Json& status) {
  if (present["phase"] != run["phase"]) status["phase"] = run["phase"];
  if (present["startTime"].AsString().empty()) status["startTime"] = FormatRfc3339(now);
  for (const std::string_view list : kLists) {
    if (status.Has(list)) continue;  // holds the run's already
    const bool absent = merged[list].items().empty() && present[list].is_null();
    if (!absent && merged[list] != present[list]) status[list] = merged[list];
  }
  for (const Json& wanted : run["conditions"].items()) {
    const Json& before = FindBy(present["conditions"], "type", wanted["type"].AsString());
    if (auto patch = ConditionPatch(before, wanted, now)) {
      status["conditions"].Append(*std::move(patch));
    }
  }
}

// Only what the run decides: devices are compared by their own rules.
std::vector<kube::ContainerStatus> WithoutDevices(std::vector<kube::ContainerStatus> statuses) {
  for (kube::ContainerStatus& status : statuses) status.allocated.clear();
  return statuses;
}

}  // namespace

bool SaysRun(const kube::Pod& pod, const Json& run) {
  Json metadata = Json::MakeObject(
      {{"name", pod.meta.key.name}, {"namespace", pod.meta.key.ns}, {"uid", pod.meta.uid}});
  // Read as the informer's was, so that both are compared in one way.
  const StatusOr<kube::Pod> wanted =
      kube::DecodePod(Json::MakeObject({{"metadata", std::move(metadata)}, {"status", run}}));
  if (!wanted.ok()) return false;
  const auto says = [&](const kube::PodCondition& condition) {
    return std::ranges::any_of(pod.conditions, [&](const kube::PodCondition& present) {
      return present.type == condition.type && present.status == condition.status &&
             present.reason == condition.reason && present.message == condition.message;
    });
  };
  return pod.phase == wanted->phase && pod.started &&
         WithoutDevices(pod.statuses) == WithoutDevices(wanted->statuses) &&
         WithoutDevices(pod.init_statuses) == WithoutDevices(wanted->init_statuses) &&
         std::ranges::all_of(wanted->conditions, says);
}

std::optional<Json> RunPatch(const Json& object, const std::optional<WantedPodStatus>& wanted,
                             const Json& run, WallTime now) {
  const StatusOr<kube::Pod> present = kube::DecodePod(object);
  if (!present.ok()) return std::nullopt;
  // Devices first, on the Pod as it will be: their lists belong to the containers' new statuses.
  Json merged = object;
  const bool ended = HasEnded(*present);
  for (const std::string_view list : kLists) {
    const bool none = run[list].items().empty();
    if (!ended && !none) merged["status"][list] = WithAllocated(run[list], object["status"][list]);
  }
  const StatusOr<kube::Pod> pod = kube::DecodePod(merged);
  if (!pod.ok()) return std::nullopt;
  std::optional<Json> patch = WholePatch(merged, *pod, wanted, /*running=*/false, now);
  if (ended) return patch;
  Json status = patch ? (*patch)["status"] : Json();
  PutRun(object["status"], merged["status"], run, now, status);
  if (status.is_null()) return patch;
  Json whole = patch ? *std::move(patch) : Json();
  // As of every patch of ours: it fits this very Pod, in this very version.
  whole["metadata"]["uid"] = pod->meta.uid;
  whole["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"];
  whole["status"] = std::move(status);
  return whole;
}

}  // namespace galen::agent
