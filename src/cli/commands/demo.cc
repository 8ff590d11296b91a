// Tested by tests/e2e/demo_test.cc, which plays the demo in batch.
#include <unistd.h>

#include <algorithm>

#include "base/loop/signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/get.h"
#include "cli/commands/why.h"
#include "cli/demo/demo_place.h"
#include "cli/demo/demo_programs.h"
#include "cli/demo/demo_screen.h"
#include "cli/demo/demo_stage.h"
#include "cli/demo/demo_story.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

// A person sees the seconds in the table advance.
constexpr Duration kRedrawEvery = 1s;
// Longer than an agent gathers changes for its node's object.
constexpr Duration kTableWithin = 2s;

// Three lines that fit on a terminal of 80 columns.
std::vector<std::string> HeaderLines(const DemoPlace& place, const DemoPrograms& programs) {
  return {fmt::format("Galen: an embedded Kubernetes API (pid {}), the agent of node-7 ({}),",
                      programs.pid("galen-sim"), programs.pid("galen-agent")),
          fmt::format("a driver of eight simulated GPUs ({}), a driver of a real veth link ({});",
                      programs.pid("gpu-driver"), programs.pid("nic-driver")),
          "three Pods hold a device each. Files, sockets and logs: " + place.directory};
}

// Commands for another terminal, with this program's own path, which need not be on PATH.
std::string NextLines(const DemoPlace& place, const std::string& bin_directory) {
  return fmt::format(
      "\nIt stays up until you press Ctrl-C. In another terminal:\n"
      "  export KUBECONFIG={}\n  export GALEN_AGENT_SOCKET={}\n  export PATH=\"{}:$PATH\"\n"
      "  galen get pods\n  galen watch\n  galen inject gpu-5 pcie-width=8\n"
      "  galen why llm-0\n  kubectl describe pod -n serve llm-0\n",
      place.kubeconfig(), place.agent_socket(), bin_directory);
}

// Wires the demo's parts and plays the story once.
class DemoRun {
 public:
  // Everything here outlives the run.
  struct Edges {
    EpollLoop& loop;
    Random& random;
    Interrupt& interrupt;
    Output& output;
  };

  DemoRun(Options options, DemoArguments arguments, DemoPlace place, Edges edges)
      : options_(std::move(options)),
        arguments_(std::move(arguments)),
        place_(std::move(place)),
        edges_(edges),
        live_(options_.terminal && !arguments_.batch),
        screen_({.live = live_,
                 .colour = options_.colour,
                 .size = [] { return SizeOfTerminal(STDOUT_FILENO); }},
                [this](std::string_view bytes) { edges_.output.Write(bytes); }),
        programs_(edges_.loop, place_,
                  {.bin_directory = arguments_.bin_directory,
                   .node = "node-7",
                   .kernel_log = arguments_.kernel_log,
                   .interrupt = &edges_.interrupt},
                  [this](const auto&, const auto&, const std::string& how) { OnDeath(how); }) {
    options_.cluster.path = place_.kubeconfig();
    options_.agent_socket = place_.agent_socket();
    // Its output goes into logs and tests.
    if (arguments_.batch) options_.colour = false;
  }

  Status Play() {
    screen_.Story("starting the API, the agent and two drivers …");
    RETURN_IF_ERROR(programs_.StartApi());
    ASSIGN_OR_RETURN(session_, Session::Open(edges_.loop, options_, &edges_.interrupt));
    // Once before the story, so that a broken API is reported by its own error and not as a missing
    // step.
    RETURN_IF_ERROR(session_->List(kube::kPods, "").status());
    return Perform();
  }

  // Runs until the user ends it. Programs may die now: people try what happens then.
  void Keep() {
    keeping_ = true;
    screen_.Close(NextLines(place_, arguments_.bin_directory));
    while (!edges_.interrupt.raised()) edges_.loop.Run();
    // After the ^C that a terminal shows.
    edges_.output.Write("\n");
  }

 private:
  Status Perform() {
    DemoStage stage(*session_, edges_.random, [this] { Redraw(); });
    // Redraw uses it while it lives; it dies with this function.
    stage_ = &stage;
    const Status performed = PerformOn(stage);
    stage_ = nullptr;
    tick_.Cancel();
    return performed;
  }

  Status PerformOn(DemoStage& stage) {
    RETURN_IF_ERROR(stage.Apply(DemoStory::Manifest(), DemoStage::Part::kGround));
    stage.Start();
    RETURN_IF_ERROR(programs_.StartAgent());
    RETURN_IF_ERROR(programs_.StartGpuDriver());
    RETURN_IF_ERROR(programs_.MakeLink());
    RETURN_IF_ERROR(programs_.StartNicDriver());
    screen_.Header(HeaderLines(place_, programs_));
    if (live_) Tick();
    const bool has_devices = DemoStory::WaitForDrivers(stage);
    // Without devices the Pods' own Events say best what is missing.
    RETURN_IF_ERROR(stage.Apply(DemoStory::Manifest(), DemoStage::Part::kPods));
    if (!has_devices || !DemoStory::WaitForPods(stage)) {
      RETURN_IF_ERROR(stage.interrupted());
      return DeadlineExceeded("the Pods are not running with healthy devices; logs are in {}",
                              place_.directory);
    }
    DemoStory story(stage, programs_, screen_, place_, {.kernel_log = arguments_.kernel_log});
    RETURN_IF_ERROR(story.Play());
    return Summarize(story);
  }

  Status Summarize(const DemoStory& story) {
    // The table shows NodeDeviceHealth, which gathers changes for a moment.
    stage_->WaitUntil([this] { return AllIsWellButTheLostGpu(); }, kTableWithin);
    ASSIGN_OR_RETURN(const std::string why, Why(*session_, options_, "serve/llm-0"));
    Redraw();
    std::string text = "\nMeasured in this run:\n";
    for (const std::string& line : story.measured()) text += "  " + line + "\n";
    text += "\n$ galen why serve/llm-0\n" + why;
    // All of that was simulated except the link; this sign is real.
    const std::string real = RealSign(probes::RealSysfs(), "/sys");
    if (!real.empty()) text += "\nA sign of this machine itself, " + real + "\n";
    screen_.Close(text);
    return OkStatus();
  }

  // The story's end: of three Pods' devices two are Healthy, one GPU is lost.
  bool AllIsWellButTheLostGpu() const {
    const std::optional<Fleet> fleet = stage_->fleet();
    if (!fleet) return false;
    return std::count_if(
               fleet->devices.begin(), fleet->devices.end(), [](const DeviceView& device) {
                 return !device.holders.empty() && device.health.state == HealthState::kHealthy;
               }) == 2;
  }

  void OnDeath(const std::string& how) {
    if (!keeping_) return edges_.interrupt.Raise(Unavailable("{}", how));
    edges_.output.Write(how + "\n");
  }

  void Redraw() {
    const std::optional<Fleet> fleet = stage_ == nullptr ? std::nullopt : stage_->fleet();
    if (!fleet) return;
    const auto table = ShowLive(*fleet, "pods", "", options_, edges_.loop.WallNow(),
                                SizeOfTerminal(STDOUT_FILENO).columns);
    if (table.ok()) screen_.Show(*table);
  }

  void Tick() {
    Redraw();
    tick_ = edges_.loop.After(kRedrawEvery, [this] { Tick(); });
  }

  Options options_;
  const DemoArguments arguments_;
  const DemoPlace place_;
  const Edges edges_;
  const bool live_;
  DemoScreen screen_;
  bool keeping_ = false;
  DemoPrograms programs_;
  std::unique_ptr<Session> session_;
  DemoStage* stage_ = nullptr;
  Timer tick_;
};

// Handles a signal that came after the last wait.
void LookForSignals(EpollLoop& loop) {
  const Timer moment = loop.After(1ms, [&loop] { loop.Stop(); });
  loop.Run();
}

}  // namespace

StatusOr<int> Demo(const Options& options, const DemoArguments& arguments, Output& output) {
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  Random random(Random::Seed());
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
  ASSIGN_OR_RETURN(const DemoPlace place, DemoPlace::Make(arguments.directory));
  Status played;
  {
    // In a block of its own: all processes have ended before the directory is removed.
    DemoRun run(options, arguments, place, {*loop, random, interrupt, output});
    played = run.Play();
    if (played.ok() && arguments.keep) run.Keep();
  }
  LookForSignals(*loop);
  const bool ended_from_outside = signalled || !output.status().ok();
  if (!played.ok() && !ended_from_outside) return played;  // the directory stays, for its logs
  place.Remove();
  if (!output.status().ok()) return ExitCodeOf(output);
  return signalled && !(played.ok() && arguments.keep) ? kExitInterrupted : 0;
}

}  // namespace galen::cli
