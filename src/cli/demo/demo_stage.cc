// Tested by tests/e2e/demo_test.cc, which plays the demo in batch.
#include "cli/demo/demo_stage.h"

#include "base/data/yaml.h"

namespace galen::cli {
namespace {

// Where the object's kind lives, of the kinds that the demo makes.
StatusOr<kube::Resource> ResourceOf(const Json& object) {
  for (const kube::Resource& resource :
       {kube::kNamespaces, kube::kPods, kube::kDeviceClasses, kube::kResourceClaims,
        kube::kResourceClaimTemplates, kube::kCustomResourceDefinitions}) {
    if (object["kind"].AsString() == resource.kind) return resource;
  }
  return InvalidArgument("the demo makes no {}", object["kind"].AsString());
}

// The devices of the first container that has any; the demo's Pods have one.
std::vector<kube::ResourceHealth> DevicesOf(const kube::Pod& pod) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    for (const kube::ResourceStatus& resource : status.allocated) {
      if (!resource.resources.empty()) return resource.resources;
    }
  }
  return {};
}

}  // namespace

DemoStage::DemoStage(Session& session, Random& random, std::function<void()> on_change)
    : session_(session),
      on_change_(std::move(on_change)),
      fleet_(session, random, [this] { OnChange(); }) {}

Status DemoStage::Apply(const std::string& manifest, Part part) {
  ASSIGN_OR_RETURN(const std::vector<Json> objects, ParseYamlStream(manifest));
  for (const Json& object : objects) {
    ASSIGN_OR_RETURN(const kube::Resource resource, ResourceOf(object));
    if ((resource.kind == kube::kPods.kind) != (part == Part::kPods)) continue;
    const Json& meta = object["metadata"];
    const auto answer = session_.Fetch(kube::Patch(
        resource, meta["namespace"].AsString(), meta["name"].AsString(), kube::PatchType::kApply,
        object, {.subresource = "", .field_manager = "galen-demo", .force = true}));
    if (!answer.ok()) {
      return Annotate(answer.status(), "apply {} {}", resource.kind, meta["name"].AsString());
    }
  }
  return OkStatus();
}

bool DemoStage::WaitUntil(const std::function<bool()>& done, Duration limit) {
  EpollLoop& loop = session_.loop();
  const Time end = loop.Now() + limit;
  const Timer timer = loop.At(end, [&loop] { loop.Stop(); });
  while (interrupted().ok() && !done() && loop.Now() < end) loop.Run();
  return interrupted().ok() && done();
}

std::optional<Fleet> DemoStage::fleet() const {
  if (!fleet_.synced()) return std::nullopt;
  return fleet_.Join(session_.loop().WallNow());
}

void DemoStage::KeepSaying(const ObjectKey& pod) {
  listened_to_ = pod;
  const kube::Pod* present = Find(pod);
  last_said_ = present == nullptr ? "" : present->devices_annotation;
  said_.clear();
}

const kube::ResourceHealth* DemoStage::HealthOf(const ObjectKey& pod) const {
  const auto line = lines_.find(pod);
  return line == lines_.end() || line->second.empty() ? nullptr : &line->second.front();
}

std::optional<DeviceId> DemoStage::DeviceOf(const ObjectKey& pod) const {
  for (const auto& [key, claim] : fleet_.claims().objects()) {
    for (const PodRef& holder : claim.reserved_for) {
      if (holder.key == pod && !claim.devices.empty()) return claim.devices.front().device;
    }
  }
  return std::nullopt;
}

WallTime DemoStage::SeenAt(const ObjectKey& pod) const {
  const auto it = seen_.find(pod);
  return it == seen_.end() ? WallTime{} : it->second;
}

void DemoStage::OnChange() {
  for (const auto& [key, pod] : fleet_.pods().objects()) {
    std::vector<kube::ResourceHealth> line = DevicesOf(pod);
    // Other changes of the Pod do not count, so its time stays.
    if (lines_[key] == line) continue;
    lines_[key] = std::move(line);
    seen_[key] = session_.loop().WallNow();
  }
  if (const kube::Pod* pod = listened_to_ ? Find(*listened_to_) : nullptr) {
    if (pod->devices_annotation != last_said_) said_.push_back(pod->devices_annotation);
    last_said_ = pod->devices_annotation;
  }
  on_change_();
  session_.loop().Stop();  // the waiting code checks again
}

}  // namespace galen::cli
