// Tested by tests/e2e, which plays the demo in batch.
#include "cli/demo.h"

#include <unistd.h>

#include <cstdio>

#include "base/signal.h"
#include "cli/demo_place.h"
#include "cli/demo_programs.h"
#include "cli/demo_screen.h"
#include "cli/demo_stage.h"
#include "cli/demo_story.h"
#include "cli/get.h"
#include "cli/why.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kProgramStartsWithin = 20s;
constexpr Duration kLookForKubeconfigEvery = 20ms;
constexpr int kExitInterrupted = 130;  // as a shell says of SIGINT

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// galen-sim writes its kubeconfig once it serves.
Status WaitForApi(EpollLoop& loop, DemoPrograms& programs, const DemoPlace& place,
                  const std::string& died) {
  RETURN_IF_ERROR(programs.StartApi());
  const Time end = loop.Now() + kProgramStartsWithin;
  while (access(place.kubeconfig().c_str(), R_OK) != 0) {
    if (!died.empty()) return Unavailable("{} ended by itself; see {}", died, place.log(died));
    if (loop.Now() > end)
      return DeadlineExceeded("galen-sim serves nothing; see {}", place.log("galen-sim"));
    const Timer pause = loop.After(kLookForKubeconfigEvery, [&loop] { loop.Stop(); });
    loop.Run();
  }
  return OkStatus();
}

std::vector<std::string> HeaderLines(const DemoPlace& place, const DemoPrograms& programs) {
  return {
      fmt::format("Galen: an embedded Kubernetes API (pid {}), node-7's agent ({}), a GPU driver "
                  "with eight "
                  "simulated H200 ({}),",
                  programs.pid("galen-sim"), programs.pid("galen-agent"),
                  programs.pid("gpu-driver")),
      fmt::format(
          "a NIC driver with a real veth link in a network namespace of its own ({}); three Pods "
          "hold one device each.",
          programs.pid("nic-driver")),
      "Files, sockets and logs: " + place.directory};
}

std::string NextLines(const DemoPlace& place) {
  const std::string galen = fmt::format("galen --kubeconfig {} --agent-socket {}",
                                        place.kubeconfig(), place.agent_socket());
  return fmt::format(
      "\nIt stays up until you press Ctrl-C. Try:\n"
      "  {0} get pods\n  {0} watch\n  {0} inject --driver gpu.example.com gpu-5 pcie-width=8\n"
      "  {0} why llm-0\n  kubectl --kubeconfig {1} describe pod -n serve llm-0\n",
      galen, place.kubeconfig());
}

// Wires the demo's parts and plays the story once.
class DemoRun {
 public:
  DemoRun(Options options, DemoArguments arguments, DemoPlace place, EpollLoop& loop,
          Random& random)
      : options_(std::move(options)),
        arguments_(std::move(arguments)),
        place_(std::move(place)),
        loop_(loop),
        random_(random),
        screen_(options_.terminal && !arguments_.batch, Print),
        programs_(loop, place_,
                  {.bin_directory = arguments_.bin_directory,
                   .node = "node-7",
                   .kernel_log = arguments_.kernel_log},
                  [this](const std::string& program) { died_ = program; }) {
    options_.cluster.path = place_.kubeconfig();
    options_.agent_socket = place_.agent_socket();
    if (arguments_.batch) options_.colour = false;
  }

  Status Play() {
    if (!arguments_.batch) screen_.Story("starting the API, the agent and two drivers …");
    RETURN_IF_ERROR(WaitForApi(loop_, programs_, place_, died_));
    ASSIGN_OR_RETURN(session_, Session::Open(loop_, options_));
    RETURN_IF_ERROR(session_->List(kube::kPods, "").status());
    return Perform();
  }

  void Interrupt() {
    interrupted_ = true;
    if (stage_ != nullptr) stage_->Interrupt();
    loop_.Stop();
  }
  bool interrupted() const { return interrupted_; }

  void Keep() {
    screen_.Close(NextLines(place_));
    while (!interrupted_) loop_.Run();
  }

 private:
  Status Perform() {
    DemoStage stage(*session_, random_, [this] { Redraw(); });
    stage_ = &stage;
    RETURN_IF_ERROR(stage.Apply(DemoStory::Manifest()));
    stage.Start();
    RETURN_IF_ERROR(programs_.StartAgent());
    RETURN_IF_ERROR(programs_.StartGpuDriver());
    RETURN_IF_ERROR(programs_.MakeLink());
    RETURN_IF_ERROR(programs_.StartNicDriver());
    screen_.Header(HeaderLines(place_, programs_));
    if (!DemoStory::WaitForPods(stage)) {
      return DeadlineExceeded("the Pods are not running with healthy devices{}; logs are in {}",
                              died_.empty() ? "" : ", " + died_ + " ended by itself",
                              place_.directory);
    }
    DemoStory story(stage, programs_, screen_, place_, {.kernel_log = arguments_.kernel_log});
    const Status played = story.Play();
    stage_ = nullptr;
    if (!played.ok()) return played;
    return Summarize(story);
  }

  Status Summarize(const DemoStory& story) {
    ASSIGN_OR_RETURN(const std::string why, Why(options_, "serve/llm-0"));
    std::string text = "\nMeasured in this run:\n";
    for (const std::string& line : story.measured()) text += "  " + line + "\n";
    text += "\n$ galen why serve/llm-0\n" + why;
    screen_.Close(text);
    return OkStatus();
  }

  void Redraw() {
    if (stage_ == nullptr) return;
    const auto table = Show(stage_->fleet(), "pods", "", options_, loop_.WallNow());
    if (table.ok()) screen_.Show(*table);
  }

  Options options_;
  const DemoArguments arguments_;
  const DemoPlace place_;
  EpollLoop& loop_;
  Random& random_;
  DemoScreen screen_;
  std::string died_;
  DemoPrograms programs_;
  std::unique_ptr<Session> session_;
  DemoStage* stage_ = nullptr;
  bool interrupted_ = false;
};

}  // namespace

StatusOr<int> Demo(const Options& options, const DemoArguments& arguments) {
  ASSIGN_OR_RETURN(const DemoPlace place, DemoPlace::Make(arguments.directory));
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  Random random(Random::Seed());
  Status played;
  bool interrupted = false;
  {
    DemoRun run(options, arguments, place, *loop, random);
    ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(*loop, [&run] { run.Interrupt(); }));
    played = run.Play();
    if (played.ok() && arguments.keep) run.Keep();
    interrupted = run.interrupted();
  }
  if (!played.ok() && !interrupted) return played;  // the directory stays, for its logs
  place.Remove();
  return played.ok() ? 0 : kExitInterrupted;
}

}  // namespace galen::cli
