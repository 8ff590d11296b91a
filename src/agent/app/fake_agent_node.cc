#include "agent/app/fake_agent_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "api_sim/objects/fake_objects.h"
#include "base/files/posix_file_system.h"

namespace galen::agent {
namespace {

constexpr const char* kNode = "node-1";

cluster_sim::ClusterApp::Options ClusterFor(Role role) {
  if (role == Role::kManager) return {};
  return {.nodes = {{.name = kNode}}};
}

}  // namespace

class FakeApiLink::Call final : public net::HttpCall, private net::HttpResponseSink {
 public:
  Call(FakeApiLink& link, net::HttpRequest request, net::HttpResponseSink& sink)
      : link_(link), sink_(sink) {
    link_.calls_.push_back(this);
    if (link_.down_) {
      Cut(Unavailable("the API is away"));
    } else {
      inner_ = link_.inner_.Send(std::move(request), *this);
    }
  }
  ~Call() override { std::erase(link_.calls_, this); }

  void Cut(const Status& status) {
    inner_.reset();
    cut_ = link_.loop_.After(Duration::zero(), [this, status] { sink_.OnEnd(status, {}); });
  }

 private:
  void OnHead(int status, const net::Headers& headers) override {
    if (!link_.half_open_) sink_.OnHead(status, headers);
  }
  void OnData(std::string_view bytes) override {
    if (!link_.half_open_) sink_.OnData(bytes);
  }
  void OnEnd(const Status& status, const net::Headers& trailers) override {
    if (!link_.half_open_) sink_.OnEnd(status, trailers);
  }

  FakeApiLink& link_;
  net::HttpResponseSink& sink_;
  std::unique_ptr<net::HttpCall> inner_;
  Timer cut_;
};

std::unique_ptr<net::HttpCall> FakeApiLink::Send(net::HttpRequest request,
                                                 net::HttpResponseSink& sink) {
  ++requests_;
  paths_.push_back(request.path);
  if (request.method != "GET") ++writes_;
  return std::make_unique<Call>(*this, std::move(request), sink);
}

void FakeApiLink::SetDown(bool down) {
  down_ = down;
  if (!down) return;
  for (Call* call : calls_) call->Cut(Unavailable("the API is away"));
}

void FakeApiLink::NoticeHalfOpen() {
  half_open_ = false;
  for (Call* call : calls_) call->Cut(Unavailable("silent, and no answer to a PING"));
}

AgentNode::AgentNode(Role role)
    : cluster(ClusterFor(role)),
      network(cluster.loop(), random),
      transport(cluster.loop(), cluster.app().api()),
      api(cluster.loop(), transport),
      dialer(network.MakeDialer(weather)),
      log(
          LogLevel::kInfo, [this] { return cluster.loop().WallNow(); },
          [this](LogLevel, std::string_view line) { lines.emplace_back(line); }) {
  config.node = kNode;
  config.role = role;
}

AgentNode::~AgentNode() = default;

FakePlugin& AgentNode::AddDriver(const std::vector<std::string>& devices,
                                 FakePlugin::Options options) {
  const std::string driver = options.driver;
  drivers.push_back(
      std::make_unique<FakePlugin>(cluster.loop(), network, registry, std::move(options)));
  std::vector<FakeReport> reports;
  for (const std::string& device : devices) reports.push_back({.device = device});
  drivers.back()->Report(reports);
  drivers.back()->PrepareBy([this, driver](const ObjectKey& claim) {
    std::vector<std::string> held;
    const Json object = cluster.Get(kube::kResourceClaims, claim.name, claim.ns);
    for (const Json& result : object["status"]["allocation"]["devices"]["results"].items()) {
      if (result["driver"].AsString() == driver) held.push_back(result["device"].AsString());
    }
    return held;
  });
  drivers.back()->Start();
  if (cluster.Get(kube::kDeviceClasses, driver).is_null()) {
    cluster.AddClass(driver, driver);
    cluster.AddSlice(api_sim::FakeSlice(driver, kNode, devices));
    cluster.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate(driver, driver));
  }
  return *drivers.back();
}

void AgentNode::AddPod(const std::string& name, const std::string& device_class) {
  Json pod = api_sim::WithTemplate(api_sim::FakePod(name), "gpu", device_class);
  Json& container = pod["spec"]["containers"].MutableItems()[0];
  container["resources"]["claims"].Append(Json::MakeObject({{"name", "gpu"}}));
  CreatePod(pod);
}

void AgentNode::CreatePod(Json pod) {
  // As whoever wants a Pod on a virtual node has to write.
  pod["spec"]["tolerations"].Append(
      Json::MakeObject({{"key", VirtualNode::kTaint}, {"operator", "Exists"}}));
  cluster.Create(kube::kPods, pod);
}

void AgentNode::StartAgent() {
  metrics = std::make_unique<Metrics>();
  disk = std::make_unique<FakeDiskQueue>();
  container_disk = std::make_unique<FakeDiskQueue>();
  app = AgentApp::Create({cluster.loop(), log, *metrics, random, files, *dialer, api, registry,
                          processes, "", disk.get(), container_disk.get(), &sources},
                         config, "1.2.3")
            .value();
  app->Start();
}

void AgentNode::KillAgent() {
  registry.GoDeaf();
  sources.GoDeaf();
  app.reset();
  disk.reset();
  container_disk.reset();
  files.Crash();
}

std::string AgentNode::Annotation(const std::string& pod) {
  return cluster.Pod(pod)["metadata"]["annotations"][kube::kDevicesAnnotation].AsString();
}

std::string AgentNode::Condition(const std::string& pod) {
  const Json object = cluster.Pod(pod);
  for (const Json& condition : object["status"]["conditions"].items()) {
    if (condition["type"].AsString() != kube::kDevicesCondition) continue;
    return condition["status"].AsString() + " " + condition["reason"].AsString();
  }
  return "";
}

std::string AgentNode::Allocated(const std::string& pod, std::string_view list) {
  const Json object = cluster.Pod(pod);
  std::string text;
  for (const Json& status : object["status"][list].items()) {
    for (const Json& entry : status["allocatedResourcesStatus"].items()) {
      for (const Json& resource : entry["resources"].items()) {
        text += fmt::format("{}{} {} {}: {}", text.empty() ? "" : "\n", entry["name"].AsString(),
                            resource["resourceID"].AsString(), resource["health"].AsString(),
                            resource["message"].AsString());
      }
    }
  }
  return text;
}

std::set<std::string> AgentNode::Events(const std::string& pod) {
  std::set<std::string> reasons;
  for (const Json& event : cluster.List(kube::kEvents)) {
    const bool ours = event["source"]["component"].AsString() == "galen-agent";
    if (!ours || event["involvedObject"]["name"].AsString() != pod) continue;
    reasons.insert(fmt::format("{} x{}", event["reason"].AsString(), event["count"].AsInt()));
  }
  return reasons;
}

Json AgentNode::NodeHealth() { return cluster.Get(kube::kNodeDeviceHealths, kNode)["status"]; }

std::string AgentNode::DeviceOf(const std::string& pod) {
  const Json object = cluster.Pod(pod);
  const std::string& claim =
      object["status"]["resourceClaimStatuses"][0]["resourceClaimName"].AsString();
  return cluster.Claim(claim)["status"]["allocation"]["devices"]["results"][0]["device"].AsString();
}

int AgentNode::Logged(std::string_view sentence) const {
  return static_cast<int>(std::ranges::count_if(
      lines, [&](const std::string& line) { return line.find(sentence) != std::string::npos; }));
}

void AgentNode::DefineNodeDeviceHealth(const std::string& crd_file) {
  cluster.Create(kube::kCustomResourceDefinitions,
                 api_sim::Yaml(PosixFileSystem().Read(crd_file).value()));
  Pass();
}

}  // namespace galen::agent
