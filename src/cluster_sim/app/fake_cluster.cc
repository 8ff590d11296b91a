// Tested by cluster_app_test.cc, among all that play with a whole cluster.
#include "cluster_sim/app/fake_cluster.h"

#include <optional>

#include "api_sim/objects/fake_objects.h"
#include "api_sim/objects/pod_facts.h"

namespace galen::cluster_sim {
namespace {

// Far more than any answer takes; a call that never ends fails the test instead of hanging it.
constexpr int kStepsMax = 100'000;

// The server gives these itself and refuses or ignores a client's.
Json ForServer(Json object) {
  object["metadata"].Erase("uid");
  object.Erase("status");
  return object;
}

}  // namespace

FakeCluster::FakeCluster(ClusterApp::Options options, std::uint64_t seed)
    : random_(seed),
      app_(ClusterApp::Create(loop_, random_, NullLog(), std::move(options)).value()),
      transport_(loop_, app_->api()),
      client_(loop_, transport_) {
  // First lists, and nodes that write themselves down.
  Pass();
  GALEN_CHECK(app_->ready());
}

StatusOr<Json> FakeCluster::Do(net::HttpRequest request) {
  std::optional<StatusOr<Json>> answer;
  const auto call = client_.Do(std::move(request),
                               [&answer](StatusOr<Json> result) { answer = std::move(result); });
  // One step at a time, so that no more happens than the answer needs.
  for (int step = 0; !answer && step < kStepsMax; ++step) GALEN_CHECK(loop_.Step());
  GALEN_CHECK(answer.has_value());
  return *std::move(answer);
}

Json FakeCluster::Create(const kube::Resource& resource, const Json& object) {
  const std::string ns = resource.namespaced ? "default" : "";
  StatusOr<Json> created = Do(kube::Create(resource, ns, ForServer(object)));
  if (!created.ok()) CheckFailed(ToString(created.status()).c_str(), __FILE_NAME__, __LINE__);
  return *std::move(created);
}

Json FakeCluster::Get(const kube::Resource& resource, const std::string& name,
                      const std::string& ns) {
  const StatusOr<Json> object = Do(kube::Get(resource, ns, name));
  return object.ok() ? *object : Json();
}

std::vector<Json> FakeCluster::List(const kube::Resource& resource) {
  const StatusOr<Json> list = Do(kube::List(resource, "", {.limit = 0}));
  return list.value()["items"].items();
}

void FakeCluster::Delete(const kube::Resource& resource, const std::string& name,
                         const std::string& ns, std::int64_t grace) {
  kube::DeleteOptions options;
  options.grace_seconds = grace;
  GALEN_CHECK(Do(kube::Delete(resource, ns, name, options)).ok());
}

void FakeCluster::AddClass(const std::string& name, const std::string& driver) {
  Create(kube::kDeviceClasses, api_sim::FakeClass(name, driver));
}

std::string FakeCluster::WhyPending(const std::string& pod) {
  const Json object = Pod(pod);
  const Json& condition = api_sim::FindCondition(object["status"]["conditions"], "PodScheduled");
  return condition["reason"].AsString() + ": " + condition["message"].AsString();
}

bool FakeCluster::HasEvent(const std::string& reason, const std::string& name) {
  for (const Json& event : List(kube::kEvents)) {
    if (event["reason"].AsString() != reason) continue;
    if (event["involvedObject"]["name"].AsString() == name) return true;
  }
  return false;
}

}  // namespace galen::cluster_sim
