#include "bench/rig.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/yaml.h"
#include "bench/manifest.h"
#include "cli/embedded.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
namespace simulator = galen::simulator::v1;
namespace fs = std::filesystem;

// Limits of waits that end long before on any machine that can be measured.
constexpr Duration kProgramStartsWithin = std::chrono::seconds(20);
constexpr Duration kPodsRunWithin = std::chrono::seconds(60);
// How often a file that no descriptor tells of is looked at.
constexpr Duration kLookEvery = std::chrono::milliseconds(5);

const std::string kApi = "galen-sim";

}  // namespace

StatusOr<std::unique_ptr<Rig>> Rig::Start(Bench& bench, const std::string& role) {
  ASSIGN_OR_RETURN(cli::DemoPlace place, cli::DemoPlace::Make("/tmp"));
  std::unique_ptr<Rig> rig(new Rig(bench, role, std::move(place)));
  RETURN_IF_ERROR(rig->StartApi());
  RETURN_IF_ERROR(rig->StartAgent());
  return rig;
}

Rig::Rig(Bench& bench, std::string role, cli::DemoPlace place)
    : bench_(bench), role_(std::move(role)), place_(std::move(place)) {
  programs_.emplace(bench.loop, place_.directory);
  // The kubelet's; an observer makes nothing there.
  fs::create_directories(place_.kubelet_root() + "/plugins_registry");
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
  std::vector<std::string> command = {Program(kApi), "--kubeconfig-out", place_.kubeconfig()};
  // Only then does the API simulate the node's kubelet; a manager is the kubelet itself.
  if (role_ == "observer") command.insert(command.end(), {"--node", kNode});
  RETURN_IF_ERROR(programs_->Start(kApi, std::move(command)));
  RETURN_IF_ERROR(Until("galen-sim to serve", kProgramStartsWithin,
                        [this] { return access(place_.kubeconfig().c_str(), R_OK) == 0; }));
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

Status Rig::StartAgent() {
  return programs_->Start(
      kAgent, {Program("galen-agent"), "--role", role_, "--node", kNode, "--kubeconfig",
               place_.kubeconfig(), "--kubelet-root", place_.kubelet_root(), "--state-dir",
               place_.agent_state(), "--socket", place_.agent_socket(), "--metrics-address",
               "127.0.0.1:0"});
}

Status Rig::StartGpuDriver(int devices) {
  return programs_->Start(
      kDriver, {Program("galen-driver"), "gpu", "--node", kNode, "--kubeconfig",
                place_.kubeconfig(), "--kubelet-root", place_.kubelet_root(), "--cdi-root",
                place_.cdi_root(), "--devices", std::to_string(devices)});
}

Status Rig::StartOwnDriver(OwnDriver driver) {
  driver.node = kNode;
  driver.kubeconfig = place_.kubeconfig();
  driver.kubelet_root = place_.kubelet_root();
  driver.cdi_root = place_.cdi_root();
  return programs_->Start(kDriver, CommandOf(driver, Program("galen-bench")));
}

Status Rig::Make(const kube::Resource& resource, const Json& object) {
  const auto made =
      session_->Fetch(kube::Create(resource, object["metadata"]["namespace"].AsString(), object));
  return Annotate(made.status(), "make {} {}", resource.kind,
                  object["metadata"]["name"].AsString());
}

Status Rig::MakePods(const std::string& driver, int count) {
  for (const Manifest& manifest : ClassOf(driver)) {
    RETURN_IF_ERROR(Make(manifest.resource, manifest.object));
  }
  for (const Manifest& manifest : PodsOf(driver, count)) {
    RETURN_IF_ERROR(Make(manifest.resource, manifest.object));
  }
  return Until("all Pods to be told Healthy", kPodsRunWithin, [&] {
    for (int i = 0; i < count; ++i) {
      const PodWatch::Line& line = pods_->Of(PodName(i));
      // Only a manager writes the status; an observer says it in the annotation.
      const bool told = role_ == "manager" ? line.device.health == "Healthy"
                                           : line.annotation.ends_with("Healthy");
      if (!told || line.phase != "Running") return false;
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
