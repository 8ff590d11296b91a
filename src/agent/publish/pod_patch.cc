#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/publish/pod_publisher.h"
#include "base/time.h"

namespace galen::agent {
namespace {

Json ToJson(std::string_view type, const WantedCondition& wanted) {
  return Json::MakeObject({{"type", type},
                           {"status", wanted.status},
                           {"reason", wanted.reason},
                           {"message", wanted.message}});
}

Json DevicesCondition(const WantedPodStatus& wanted) {
  return ToJson(kube::kDevicesCondition, wanted.condition);
}

// `wanted` as it is to be written, or nullopt when `present` says the same. The time of the
// transition moves only with the status, as everywhere in Kubernetes, and is not compared: a state
// that lasts needs no write. A text that is already there is left out; an empty one removes it.
std::optional<Json> ChangedCondition(const Json& present, const Json& wanted, WallTime now) {
  const bool same = std::ranges::all_of(wanted.members(), [&](const auto& member) {
    return present[member.first].AsString() == member.second.AsString();
  });
  if (same) return std::nullopt;
  Json condition = wanted;
  const std::string& since = present["lastTransitionTime"].AsString();
  const bool kept = present["status"] == wanted["status"] && !since.empty();
  condition["lastTransitionTime"] = kept ? since : FormatRfc3339(now);
  for (const std::string_view text : {"reason", "message"}) {
    if (wanted[text].AsString() == present[text].AsString()) condition.Erase(text);
  }
  return condition;
}

// Puts what `before` lacks of the condition into the status that is to be written.
void PutCondition(Json& status, const Json& before, const Json& wanted, WallTime now) {
  if (auto changed = ChangedCondition(before, wanted, now)) {
    status["conditions"].Append(*std::move(changed));
  }
}

// The same for the annotation, in the metadata.
void PutAnnotation(Json& metadata, const std::string& before, const std::string& wanted) {
  if (before != wanted) metadata["annotations"][kube::kDevicesAnnotation] = wanted;
}

// Null when there is none, which reads as empty everywhere below.
const Json& FindNamed(const Json& list, std::string_view member, std::string_view name) {
  static const Json kNone;
  for (const Json& item : list.items()) {
    if (item[member].AsString() == name) return item;
  }
  return kNone;
}

// In the form that the API server uses, so that both roles compare in one way.
Json FindCondition(const kube::Pod& pod) {
  const kube::PodCondition* condition = kube::FindDevicesCondition(pod);
  if (condition == nullptr) return {};
  return Json::MakeObject(
      {{"type", condition->type},
       {"status", condition->status},
       {"reason", condition->reason},
       {"message", condition->message},
       {"lastTransitionTime", condition->changed ? FormatRfc3339(*condition->changed) : ""}});
}

// In the order given: pod_status has sorted them.
Json ResourceStatusJson(const std::vector<kube::ResourceStatus>& statuses) {
  Json list(Json::Array{});
  for (const kube::ResourceStatus& status : statuses) {
    Json resources(Json::Array{});
    for (const kube::ResourceHealth& resource : status.resources) {
      Json item =
          Json::MakeObject({{"resourceID", resource.resource_id}, {"health", resource.health}});
      if (!resource.message.empty()) item["message"] = resource.message;
      resources.Append(std::move(item));
    }
    list.Append(Json::MakeObject({{"name", status.name}, {"resources", std::move(resources)}}));
  }
  return list;
}

// Entries of claims are ours; those of device plugins belong to whoever wrote them.
void PutAllocated(Json& status, const std::vector<kube::ResourceStatus>& wanted) {
  Json list = ResourceStatusJson(wanted);
  for (const Json& entry : status["allocatedResourcesStatus"].items()) {
    if (!entry["name"].AsString().starts_with("claim:")) list.Append(entry);
  }
  auto& items = list.MutableItems();
  // Sorted together with the device plugins', or the order would depend on who wrote first.
  std::sort(items.begin(), items.end(), [](const Json& a, const Json& b) {
    return a["name"].AsString() < b["name"].AsString();
  });
  if (items.empty()) {
    status.Erase("allocatedResourcesStatus");
  } else {
    status["allocatedResourcesStatus"] = std::move(list);
  }
}

Json RunningStatus(const kube::Pod& pod, const kube::Container& container, WallTime now) {
  const std::string time = FormatRfc3339(now);
  // An init container has ended before the others run; a sidecar goes on, and so is shown as
  // running.
  const bool init = container.kind == kube::Container::Kind::kInit;
  Json state = init ? Json::MakeObject({{"terminated", Json::MakeObject({{"exitCode", 0},
                                                                         {"reason", "Completed"},
                                                                         {"startedAt", time},
                                                                         {"finishedAt", time}})}})
                    : Json::MakeObject({{"running", Json::MakeObject({{"startedAt", time}})}});
  return Json::MakeObject({{"name", container.name},
                           {"image", container.image},
                           {"imageID", ""},
                           {"containerID", "galen://" + pod.meta.uid + "/" + container.name},
                           {"ready", true},
                           {"started", !init},
                           {"restartCount", 0},
                           {"state", std::move(state)}});
}

// A container that ran or ended already is not shown as starting again.
bool HasStarted(const Json& status) {
  return status["state"].Has("running") || status["state"].Has("terminated");
}

using Wanted = std::map<std::string, std::vector<kube::ResourceStatus>>;

// The container statuses as they should be; those that `include` rejects stay as they are.
template <typename Include>
Json ContainerStatuses(const Json& present, const kube::Pod& pod, const Wanted& wanted,
                       bool running, WallTime now, Include include) {
  Json list(Json::Array{});
  for (const kube::Container& container : pod.containers) {
    if (!include(container.kind)) continue;
    Json status = FindNamed(present, "name", container.name);
    if (running && !HasStarted(status)) {
      // A container that is not running yet may already list devices.
      const Json allocated = status["allocatedResourcesStatus"];
      status = RunningStatus(pod, container, now);
      if (!allocated.is_null()) status["allocatedResourcesStatus"] = allocated;
    }
    if (status.is_null()) continue;  // a container that does not exist yet holds nothing
    const auto it = wanted.find(container.name);
    if (it != wanted.end()) PutAllocated(status, it->second);
    list.Append(std::move(status));
  }
  return list;
}

void PutRunning(Json& status, const Json& present, WallTime now) {
  const std::string& phase = present["phase"].AsString();
  // A phase never goes back from Succeeded or Failed.
  if (phase.empty() || phase == "Pending" || phase == "Unknown") status["phase"] = "Running";
  if (present["startTime"].AsString().empty()) status["startTime"] = FormatRfc3339(now);
  // The conditions that a kubelet sets for a Pod that runs; a rollout or a Service waits for them.
  for (const std::string_view type :
       {"PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"}) {
    const Json& before = FindNamed(present["conditions"], "type", type);
    if (before["status"].AsString() == "True") continue;
    PutCondition(status, before, ToJson(type, {"True", "", ""}), now);
  }
}

void PutList(Json& status, const Json& present, std::string_view member, Json list) {
  // An absent list and an empty one are the same; writing one for the other would go on for ever.
  if (list.items().empty() && present[member].is_null()) return;
  if (list != present[member]) status[member] = std::move(list);
}

std::optional<Json> Finish(const kube::Pod& pod, Json metadata, Json status) {
  const bool nothing = metadata.is_null() && status.is_null();
  if (nothing) return std::nullopt;
  // The API server refuses a patch whose uid is not the object's (422, to our client a conflict):
  // a new Pod of the name never gets the old one's devices.
  metadata["uid"] = pod.meta.uid;
  Json patch = Json::MakeObject({{"metadata", std::move(metadata)}});
  if (!status.is_null()) patch["status"] = std::move(status);
  return patch;
}

// The lists of container statuses.
constexpr std::string_view kLists[] = {"containerStatuses", "initContainerStatuses"};

// `list` with the devices of `present`: those are written by the findings.
Json WithAllocated(Json list, const Json& present) {
  for (Json& status : list.MutableItems()) {
    const Json& before = FindNamed(present, "name", status["name"].AsString());
    if (before.Has("allocatedResourcesStatus"))
      status["allocatedResourcesStatus"] = before["allocatedResourcesStatus"];
  }
  return list;
}

// What `run` adds to the status that the device findings have left to write.
void PutRun(const Json& present, const Json& merged, const Json& run, WallTime now, Json& status) {
  if (present["phase"] != run["phase"]) status["phase"] = run["phase"];
  if (present["startTime"].AsString().empty()) status["startTime"] = FormatRfc3339(now);
  for (const std::string_view list : kLists) {
    if (status.Has(list)) continue;  // its entries hold the run's already
    const bool absent = merged[list].items().empty() && present[list].is_null();
    if (!absent && merged[list] != present[list]) status[list] = merged[list];
  }
  for (const Json& wanted : run["conditions"].items()) {
    const Json& before = FindNamed(present["conditions"], "type", wanted["type"].AsString());
    PutCondition(status, before, wanted, now);
  }
}

// The containers without their devices, which are compared by their own rules.
std::vector<kube::ContainerStatus> WithoutDevices(std::vector<kube::ContainerStatus> statuses) {
  for (kube::ContainerStatus& status : statuses) status.allocated.clear();
  return statuses;
}

}  // namespace

std::optional<Json> FindingsPatch(const kube::Pod& pod, const WantedPodStatus& wanted,
                                  WallTime now) {
  Json metadata, status;
  PutAnnotation(metadata, pod.devices_annotation, wanted.annotation);
  PutCondition(status, FindCondition(pod), DevicesCondition(wanted), now);
  return Finish(pod, std::move(metadata), std::move(status));
}

std::optional<Json> ConditionPatch(const kube::Pod& pod, const WantedPodStatus& wanted,
                                   WallTime now) {
  Json status;
  PutCondition(status, FindCondition(pod), DevicesCondition(wanted), now);
  return Finish(pod, {}, std::move(status));
}

bool ShowsStatus(const kube::Pod& pod, const std::optional<WantedPodStatus>& wanted, bool running) {
  // An ended Pod keeps its containers as they are; only its devices may still change.
  if (running && !HasEnded(pod)) {
    // Nobody writes statuses of ephemeral containers here: they count as shown.
    const std::size_t shown = pod.statuses.size() + pod.init_statuses.size();
    const auto ephemeral =
        std::count_if(pod.containers.begin(), pod.containers.end(),
                      [](const auto& c) { return c.kind == kube::Container::Kind::kEphemeral; });
    const bool all = shown + static_cast<std::size_t>(ephemeral) >= pod.containers.size();
    if (pod.phase != "Running" || !all) return false;
  }
  if (!wanted) return true;
  const auto lists_match = [](const std::vector<kube::ContainerStatus>& present,
                              const Wanted& lists) {
    return std::all_of(present.begin(), present.end(), [&](const kube::ContainerStatus& status) {
      const auto it = lists.find(status.name);
      return it == lists.end() || it->second == status.allocated;
    });
  };
  return !FindingsPatch(pod, *wanted, {}) && lists_match(pod.statuses, wanted->main) &&
         lists_match(pod.init_statuses, wanted->init);
}

std::optional<Json> WholePatch(const Json& object, const kube::Pod& pod,
                               const std::optional<WantedPodStatus>& wanted, bool running,
                               WallTime now) {
  const Json& present = object["status"];
  Json metadata, status;
  const bool runs = running && !HasEnded(pod);
  if (runs) PutRunning(status, present, now);
  if (wanted) {
    const Json& annotations = object["metadata"]["annotations"];
    PutAnnotation(metadata, annotations[kube::kDevicesAnnotation].AsString(), wanted->annotation);
    const Json& before = FindNamed(present["conditions"], "type", kube::kDevicesCondition);
    PutCondition(status, before, DevicesCondition(*wanted), now);
  }
  using Kind = kube::Container::Kind;
  const Wanted none;
  PutList(status, present, "containerStatuses",
          ContainerStatuses(present["containerStatuses"], pod, wanted ? wanted->main : none, runs,
                            now, [](Kind kind) { return kind == Kind::kMain; }));
  PutList(
      status, present, "initContainerStatuses",
      ContainerStatuses(present["initContainerStatuses"], pod, wanted ? wanted->init : none, runs,
                        now, [](Kind k) { return k == Kind::kInit || k == Kind::kSidecar; }));
  std::optional<Json> patch = Finish(pod, std::move(metadata), std::move(status));
  // Lists are replaced as a whole, so a write in between must make this one fail.
  if (patch) (*patch)["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"];
  return patch;
}

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
  // Devices first, on the Pod as it will be: they become part of the containers' new statuses.
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
  // As in every patch of ours: it fits only this Pod, in this version.
  whole["metadata"]["uid"] = pod->meta.uid;
  whole["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"];
  whole["status"] = std::move(status);
  return whole;
}

}  // namespace galen::agent
