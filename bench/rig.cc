#include "bench/rig.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/data/yaml.h"
#include "bench/flooding_driver.h"
#include "bench/manifest.h"
#include "cli/demo/embedded.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
namespace simulator = galen::simulator::v1;
namespace fs = std::filesystem;

// Limits of waits that end long before on any machine that can be measured.
constexpr Duration kProgramStartsWithin = std::chrono::seconds(20);
constexpr Duration kPodsRunWithin = std::chrono::seconds(300);
// The grace period of a Pod that is deleted; short, because nothing runs in it.
constexpr std::int64_t kGraceSeconds = 1;
// How often a file is looked at that no descriptor watches.
constexpr Duration kLookEvery = std::chrono::milliseconds(5);

const std::string kApi = "galen-sim";
constexpr std::string_view kHttps = "https://";  // before its address, as its kubeconfig has it

}  // namespace

StatusOr<std::unique_ptr<Rig>> Rig::Start(Bench& bench, RigOptions options) {
  ASSIGN_OR_RETURN(cli::DemoPlace place, cli::DemoPlace::Make("/tmp"));
  std::unique_ptr<Rig> rig(new Rig(bench, std::move(options), std::move(place)));
  RETURN_IF_ERROR(rig->StartApi());
  RETURN_IF_ERROR(rig->StartAgent());
  return rig;
}

Rig::Rig(Bench& bench, RigOptions options, cli::DemoPlace place)
    : bench_(bench), options_(std::move(options)), place_(std::move(place)) {
  programs_.emplace(bench.loop, place_.directory);
  // The kubelet's; an observer makes nothing there.
  fs::create_directories(place_.kubelet_root() + "/plugins_registry");
  if (!options_.config.empty()) std::ofstream(ConfigPath()) << options_.config;
}

Rig::~Rig() {
  // Those who ask before those who answer.
  pods_.reset();
  session_.reset();
  programs_.reset();
  if (waited_in_vain_) {
    fmt::print(stderr, "galen-bench: the logs of this part are kept in {}\n", place_.directory);
  } else {
    place_.Remove();
  }
}

Status Rig::StartApi() {
  RETURN_IF_ERROR(LaunchApi("127.0.0.1:0", place_.kubeconfig()));
  cli::Options options;
  // Over TLS, as agents do: what a watcher sees is measured through the same door.
  options.cluster.path = place_.kubeconfig();
  ASSIGN_OR_RETURN(session_, cli::Session::Open(bench_.loop, options));
  ASSIGN_OR_RETURN(const Json definition, ParseYaml(cli::kDeviceHealthCrd));
  RETURN_IF_ERROR(Make(kube::kCustomResourceDefinitions, definition));
  pods_ = std::make_unique<PodWatch>(bench_.loop, session_->client(), random_);
  pods_->Start();
  return OkStatus();
}

Status Rig::LaunchApi(const std::string& listen, const std::string& kubeconfig) {
  std::vector<std::string> command = {Program(kApi), "--listen", listen, "--kubeconfig-out",
                                      kubeconfig};
  if (options_.keeps_api) command.insert(command.end(), {"--data", place_.directory + "/api"});
  // Only then does the API simulate the node's kubelet; a manager is the kubelet itself.
  if (options_.role == "observer") {
    command.insert(command.end(),
                   {"--node", kNode, "--max-pods", std::to_string(options_.max_pods)});
  }
  RETURN_IF_ERROR(programs_->Start(kApi, std::move(command)));
  // Written last of all.
  return Until("galen-sim to serve", kProgramStartsWithin,
               [&] { return access(kubeconfig.c_str(), R_OK) == 0; });
}

Status Rig::RestartApi() {
  const std::string address = session_->config().server.substr(kHttps.size());
  programs_->End(kApi, SIGKILL);
  // Another file than the first, which everybody reads already.
  const std::string again = place_.directory + "/kubeconfig-again";
  fs::remove(again);
  RETURN_IF_ERROR(LaunchApi(address, again));
  // What was under way with the old one ends first.
  return Until("galen-sim to answer", kProgramStartsWithin,
               [this] { return session_->List(kube::kNamespaces, "").ok(); });
}

Status Rig::StartAgent() {
  std::vector<std::string> command = {Program("galen-agent"),
                                      "--role",
                                      options_.role,
                                      "--node",
                                      kNode,
                                      "--kubeconfig",
                                      place_.kubeconfig(),
                                      "--kubelet-root",
                                      place_.kubelet_root(),
                                      "--state-dir",
                                      place_.agent_state(),
                                      "--socket",
                                      place_.agent_socket(),
                                      "--metrics-address",
                                      "127.0.0.1:0"};
  if (!options_.config.empty()) command.insert(command.end(), {"--config", ConfigPath()});
  return programs_->Start(kAgent, std::move(command));
}

Status Rig::StartGpuDriver(int devices, const std::string& driver) {
  return StartDriver("gpu", driver, {"--devices", std::to_string(devices)});
}

Status Rig::StartDriver(const std::string& kind, const std::string& driver,
                        const std::vector<std::string>& more) {
  std::vector<std::string> command = {Program("galen-driver"),
                                      kind,
                                      "--name",
                                      driver,
                                      "--node",
                                      kNode,
                                      "--kubeconfig",
                                      place_.kubeconfig(),
                                      "--kubelet-root",
                                      place_.kubelet_root(),
                                      "--cdi-root",
                                      place_.cdi_root()};
  command.insert(command.end(), more.begin(), more.end());
  return programs_->Start(driver == kGpuDriver ? kDriver : driver, std::move(command));
}

Status Rig::StartOwnDriver(OwnDriver driver) {
  driver.node = kNode;
  driver.kubeconfig = place_.kubeconfig();
  driver.kubelet_root = place_.kubelet_root();
  driver.cdi_root = place_.cdi_root();
  return programs_->Start(kDriver, CommandOf(driver, Program("galen-bench")));
}

Status Rig::StartFloodingDriver(FloodingDriver driver) {
  driver.kubelet_root = place_.kubelet_root();
  return programs_->Start(driver.name, CommandOf(driver, Program("galen-bench")));
}

Status Rig::Make(const kube::Resource& resource, const Json& object) {
  const auto made =
      session_->Fetch(kube::Create(resource, object["metadata"]["namespace"].AsString(), object));
  return Annotate(made.status(), "make {} {}", resource.kind,
                  object["metadata"]["name"].AsString());
}

Status Rig::MakePods(const PodPlan& plan) {
  RETURN_IF_ERROR(MakeClass(plan));
  RETURN_IF_ERROR(CreatePods(plan));
  return AwaitPods(plan);
}

Status Rig::MakeClass(const PodPlan& plan) {
  const Manifest ns = Namespace();
  if (!has_namespace_) RETURN_IF_ERROR(Make(ns.resource, ns.object));
  has_namespace_ = true;
  for (const Manifest& manifest : ClassOf(plan)) {
    RETURN_IF_ERROR(Make(manifest.resource, manifest.object));
  }
  return OkStatus();
}

Status Rig::CreatePods(const PodPlan& plan) {
  for (const Manifest& manifest : PodsOf(plan)) {
    RETURN_IF_ERROR(Make(manifest.resource, manifest.object));
  }
  return OkStatus();
}

Status Rig::AwaitPods(const PodPlan& plan) {
  return Until("all Pods to show Healthy", kPodsRunWithin, [&] {
    for (int i = plan.first; i < plan.first + plan.count; ++i) {
      const PodWatch::Line& line = pods_->Of(PodName(i));
      // Only a manager writes the status; an observer says it in the annotation, the worst first.
      const bool shown = options_.role == "manager" ? line.device.health == "Healthy"
                                                    : line.annotation.ends_with("Healthy");
      if (!shown || line.phase != "Running") return false;
    }
    return true;
  });
}

Status Rig::RemovePods(const PodPlan& plan) {
  const auto name = [&](int i) { return PodName(plan.first + i); };
  for (int i = 0; i < plan.count; ++i) {
    const auto gone = session_->Fetch(
        kube::Delete(kube::kPods, kNamespace, name(i), {.grace_seconds = kGraceSeconds}));
    RETURN_IF_ERROR(Annotate(gone.status(), "remove {}", name(i)));
  }
  return Until("the Pods to be gone", kPodsRunWithin, [&] {
    for (int i = 0; i < plan.count; ++i) {
      if (!pods_->Of(name(i)).phase.empty()) return false;
    }
    return true;
  });
}

StatusOr<std::map<std::string, std::string>> Rig::DevicesOfPods() {
  ASSIGN_OR_RETURN(const auto answer, AskAgent<inspect::ListDevicesResponse>(
                                          "ListDevices", inspect::ListDevicesRequest()));
  std::map<std::string, std::string> devices;
  for (const inspect::Device& device : answer.devices()) {
    for (const inspect::Holder& holder : device.holders()) devices[holder.pod()] = device.device();
  }
  return devices;
}

Status Rig::Until(const std::string& what, Duration limit, const std::function<bool()>& done) {
  const Time end = bench_.loop.Now() + limit;
  while (!done()) {
    if (bench_.interrupted) return Cancelled("interrupted");
    // Nobody waits for something that a dead program would have to do.
    if (Status health = programs_->health(); !health.ok()) {
      waited_in_vain_ = true;
      return health;
    }
    if (bench_.loop.Now() >= end) {
      waited_in_vain_ = true;
      return DeadlineExceeded("waited {} s for {}",
                              std::chrono::duration_cast<std::chrono::seconds>(limit).count(),
                              what);
    }
    const Timer look = bench_.loop.After(kLookEvery, [this] { bench_.loop.Stop(); });
    bench_.loop.Run();
  }
  return OkStatus();
}

void Rig::Pause(Duration time) {
  const Time end = bench_.loop.Now() + time;
  const Timer timer = bench_.loop.At(end, [this] { bench_.loop.Stop(); });
  while (!bench_.interrupted && bench_.loop.Now() < end) bench_.loop.Run();
}

StatusOr<std::unique_ptr<cli::AgentLink>> Rig::LinkToDriver(const std::string& driver) {
  return cli::AgentLink::Open(bench_.loop, session_->dialer(),
                              place_.kubelet_root() + "/plugins/" + driver + "/dra.sock");
}

StatusOr<WallTime> Inject(cli::AgentLink& driver, const std::string& device,
                          const std::string& sign, const std::string& value) {
  simulator::InjectRequest request;
  request.set_device(device);
  request.set_sign(sign);
  request.set_value(value);
  ASSIGN_OR_RETURN(const auto answer, driver.Ask<simulator::InjectResponse>(
                                          "/galen.simulator.v1.Simulator/Inject", request));
  return WallTime(std::chrono::nanoseconds(answer.injected_unix_nanos()));
}

}  // namespace galen::bench
