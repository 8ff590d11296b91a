// Tested by tests/e2e/dev_node_test.cc, with real processes; its text by dev_node_text_test.cc.
#include <fmt/core.h>
#include <unistd.h>

#include "base/loop/signal.h"
#include "base/random.h"
#include "cli/commands/commands.h"
#include "cli/demo/demo_place.h"
#include "cli/demo/demo_programs.h"
#include "cli/demo/demo_stage.h"
#include "cli/demo/embedded.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

// The most GPUs that the driver simulates.
constexpr std::int64_t kSimulatedGpusMax = 64;
// Containers get a few seconds to end by SIGTERM.
constexpr Duration kEndWithin = 5s;

// What a Pod needs to ask for a simulated GPU.
constexpr std::string_view kGpuClass = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
)";

Status Check(const DevNodeArguments& arguments) {
  if (::geteuid() == 0 && !arguments.as_root) {
    return InvalidArgument(
        "dev-node: every Pod would run as root of this machine: use it as another user, or "
        "allow it by --as-root");
  }
  if (arguments.simulated_gpus < 0 || arguments.simulated_gpus > kSimulatedGpusMax) {
    return InvalidArgument("--driver-sim is {}, must be from 0 to {}", arguments.simulated_gpus,
                           kSimulatedGpusMax);
  }
  return OkStatus();
}

DemoPrograms::Settings SettingsOf(const DevNodeArguments& arguments, const DemoPlace& place,
                                  const Interrupt& interrupt) {
  DemoPrograms::Settings settings{.bin_directory = arguments.bin_directory,
                                  .node = arguments.node,
                                  .interrupt = &interrupt,
                                  .end_others_within = kEndWithin};
  // The API's own Node has no taint, so that any Pod may come.
  settings.api_arguments = {"--virtual-node", arguments.node};
  settings.agent_arguments = {"--containers", "processes", "--cdi-root", place.cdi_root()};
  if (arguments.as_root) settings.agent_arguments.emplace_back("--processes-as-root");
  settings.gpu_arguments = {"--devices", std::to_string(arguments.simulated_gpus)};
  return settings;
}

// As long as the kubelet waits for a driver's Pod; enough to see that it is gone.
constexpr Duration kDriverAgain = std::chrono::seconds(5);
// A driver that ends sooner cannot start, and would fail again.
constexpr Duration kDriverRunsLeast = std::chrono::seconds(2);

// Its programs, from their start to their end.
class DevNodeRun {
 public:
  // Everything here outlives the run.
  struct Edges {
    EpollLoop& loop;
    Interrupt& interrupt;
    Output& output;
  };

  DevNodeRun(Options options, const DevNodeArguments& arguments, DemoPlace place, Edges edges)
      : options_(std::move(options)),
        arguments_(arguments),
        place_(std::move(place)),
        edges_(edges),
        programs_(edges_.loop, place_, SettingsOf(arguments_, place_, edges_.interrupt),
                  [this](const std::string& program, const Process::Exit& exit,
                         const std::string& how) { OnDeath(program, exit, how); }) {
    options_.cluster.path = place_.kubeconfig();
    options_.cluster.context.clear();
    options_.agent_socket = place_.agent_socket();
  }

  // Returns when the command is to end, with the interrupt's reason.
  Status Play() {
    RETURN_IF_ERROR(programs_.StartApi());
    ASSIGN_OR_RETURN(session_, Session::Open(edges_.loop, options_, &edges_.interrupt));
    DemoStage stage(*session_, random_, [] {});
    RETURN_IF_ERROR(stage.Apply(std::string(kDeviceHealthCrd), DemoStage::Part::kGround));
    RETURN_IF_ERROR(programs_.StartAgent());
    // Drivers may register from then on.
    RETURN_IF_ERROR(programs_.WaitForFile(place_.agent_socket(), "galen-agent"));
    if (arguments_.simulated_gpus > 0) {
      RETURN_IF_ERROR(stage.Apply(std::string(kGpuClass), DemoStage::Part::kGround));
      RETURN_IF_ERROR(StartDriver());
    }
    edges_.output.Write(DevNodeText(place_.directory, arguments_,
                                    {programs_.pid("galen-sim"), programs_.pid("galen-agent")}));
    // A program that ends stops the loop, too.
    while (!edges_.interrupt.raised()) edges_.loop.Run();
    // After the ^C that a terminal shows.
    edges_.output.Write("\n");
    return edges_.interrupt.why();
  }

 private:
  // People kill the driver to see what becomes of its Pods, so it is restarted. Without API or
  // agent the command ends.
  void OnDeath(const std::string& program, const Process::Exit& exit, const std::string& how) {
    const bool cannot_start =
        exit.signal == 0 && edges_.loop.Now() - driver_started_ < kDriverRunsLeast;
    if (program != "gpu-driver" || cannot_start) {
      return edges_.interrupt.Raise(
          Unavailable("{}; {} stays for its logs: rm -r it", how, place_.directory));
    }
    edges_.output.Write(fmt::format("{}; it is started again in {} s\n", how,
                                    kDriverAgain / std::chrono::seconds(1)));
    driver_again_ = edges_.loop.After(kDriverAgain, [this] {
      if (const Status started = StartDriver(); !started.ok()) edges_.interrupt.Raise(started);
    });
  }

  Status StartDriver() {
    driver_started_ = edges_.loop.Now();
    return programs_.StartGpuDriver();
  }

  Options options_;
  const DevNodeArguments& arguments_;
  const DemoPlace place_;
  const Edges edges_;
  Random random_{Random::Seed()};
  DemoPrograms programs_;
  std::unique_ptr<Session> session_;
  Time driver_started_{};
  Timer driver_again_;
};

}  // namespace

std::string DevNodeText(const std::string& directory, const DevNodeArguments& arguments,
                        DevNodePids pids) {
  const DemoPlace place{directory};
  std::string text = fmt::format(
      "Node {0}: an embedded Kubernetes API (pid {1}), and an agent in a kubelet's place ({2})\n"
      "that runs the containers of its Pods as processes of this machine{3}.\n\n"
      "In another terminal:\n"
      "  export KUBECONFIG={4}\n  export GALEN_AGENT_SOCKET={5}\n  export PATH=\"{6}:$PATH\"\n\n"
      "A driver registers with a socket in     {7}/plugins_registry\n"
      "its own socket lies somewhere below     {7}/plugins\n"
      "its CDI files are read from             {8}\n"
      "one of Galen's SDK is started by        NODE_NAME={0} DRIVER --kubelet-root {7} --cdi-root "
      "{8}\n",
      arguments.node, pids.api, pids.agent, arguments.as_root ? ", as root" : "",
      place.kubeconfig(), place.agent_socket(), arguments.bin_directory, place.kubelet_root(),
      place.cdi_root());
  if (arguments.simulated_gpus > 0) {
    text += fmt::format(
        "driver gpu.example.com simulates {}; claim template one-gpu asks for one of them\n",
        arguments.simulated_gpus == 1 ? "a GPU" : fmt::format("{} GPUs", arguments.simulated_gpus));
  }
  text += fmt::format(
      "\nTo look at:\n"
      "  galen get drivers\n"
      "  galen conformance --read-only {0}/plugins_registry\n"
      "  kubectl run hello --image none --restart Never --command -- sh -c 'echo hello; exit 3'\n"
      "  kubectl get pod hello -o wide\n"
      "  cat {1}/pods/*_hello_*/hello/log\n"
      "\nLogs of the programs are {2}/*.log. Ctrl-C ends it all and removes {2}.\n",
      place.kubelet_root(), place.agent_state(), place.directory);
  return text;
}

StatusOr<int> DevNode(const Options& options, const DevNodeArguments& arguments, Output& output) {
  RETURN_IF_ERROR(Check(arguments));
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  Interrupt interrupt(*loop);
  bool signalled = false;
  // Signals are watched before anything needs cleaning up, and until all is cleaned up.
  ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(
                                           *loop,
                                           [&] {
                                             signalled = true;
                                             interrupt.Raise(Cancelled("interrupted"));
                                           },
                                           SecondSignal::kIsIgnored));
  const auto watching = output.Watch(*loop, [&] { interrupt.Raise(output.status()); });
  ASSIGN_OR_RETURN(const DemoPlace place, arguments.directory.empty()
                                              ? DemoPlace::Make("/tmp")
                                              : DemoPlace::MakeAt(arguments.directory));
  Status played;
  {
    // In a block of its own: all processes have ended before the directory is removed.
    DevNodeRun run(options, arguments, place, {*loop, interrupt, output});
    played = run.Play();
  }
  const bool ended_from_outside = signalled || !output.status().ok();
  if (!ended_from_outside) return played;  // the directory stays, for its logs
  place.Remove();
  return output.status().ok() ? StatusOr<int>(0) : ExitCodeOf(output);
}

}  // namespace galen::cli
