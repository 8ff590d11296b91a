// One measurement's cluster: the embedded API, an agent and drivers as real processes in a short
// directory of their own, and the ways to ask and disturb them. Belongs to the thread that made it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/epoll_loop.h"
#include "base/random.h"
#include "bench/flooding_driver.h"
#include "bench/manifest.h"
#include "bench/own_driver.h"
#include "bench/pod_watch.h"
#include "bench/programs.h"
#include "cli/demo/demo_place.h"
#include "cli/fleet/session.h"
#include "cli/inspect/agent_link.h"

namespace galen::bench {

// What all parts share. Lives as long as the run; `interrupted` is set from a signal.
struct Bench {
  EpollLoop& loop;
  std::string bin_directory;  // where galen-agent and its siblings are
  Duration idle = std::chrono::seconds(60);
  bool interrupted = false;
};

// What a cluster is made of.
struct RigOptions {
  std::string role;         // "manager", or "observer" beside a simulated kubelet
  int max_pods = 110;       // that the simulated kubelet takes; a manager's own number is fixed
  bool keeps_api = false;   // the API keeps its state, so that it can be restarted
  std::string config = {};  // of the agent, beyond what the flags say: YAML
};

class Rig {
 public:
  inline static const std::string kNode = "node-7";
  inline static const std::string kGpuDriver = "gpu.example.com";
  inline static const std::string kAgent = "galen-agent";
  inline static const std::string kDriver = "driver";

  // The API and an agent. Returns when the API serves; the agent comes up by itself.
  static StatusOr<std::unique_ptr<Rig>> Start(Bench& bench, RigOptions options);
  // Ends every process. The directory stays when a wait was in vain: its logs show why.
  ~Rig();

  // Starts the agent, again after it was ended.
  Status StartAgent();
  // Kills the API and starts it again, where it was and with all that it knew. REQUIRES: keeps_api.
  Status RestartApi();
  // galen-driver with simulated GPUs. Those beside the first are programs of their driver's name.
  Status StartGpuDriver(int devices, const std::string& driver = kGpuDriver);
  // galen-driver of another kind ("sysfs"), with what its kind asks for.
  Status StartDriver(const std::string& kind, const std::string& driver,
                     const std::vector<std::string>& more);
  // A driver of this program's own: see OwnDriver. Its directories are filled in here. One driver
  // at a time, whichever it is.
  Status StartOwnDriver(OwnDriver driver);

  // A driver beside it that floods: see FloodingDriver. Its directory is filled in here.
  Status StartFloodingDriver(FloodingDriver driver = {});

  // Makes Pods and what they need, and waits until all show Healthy.
  Status MakePods(const PodPlan& plan);
  // The parts of it: what all Pods of a driver need, once; the Pods; the wait.
  Status MakeClass(const PodPlan& plan);
  Status CreatePods(const PodPlan& plan);
  Status AwaitPods(const PodPlan& plan);
  // Takes the Pods away and waits until they are gone.
  Status RemovePods(const PodPlan& plan);
  // Each Pod's device, by names, as the agent knows it.
  StatusOr<std::map<std::string, std::string>> DevicesOfPods();

  // Lets the loop run until `done` holds, looked at every few milliseconds and at each change.
  // DeadlineExceeded naming `what` when `limit` passed first, Cancelled when interrupted,
  // Unavailable when a program ended by itself.
  Status Until(const std::string& what, Duration limit, const std::function<bool()>& done);
  // Lets time pass while everything goes on; shorter when interrupted.
  void Pause(Duration time);

  // Connects to a driver's socket, for its simulator. A new connection each time, so that a program
  // that was restarted answers too.
  StatusOr<std::unique_ptr<cli::AgentLink>> LinkToDriver(const std::string& driver);
  template <typename Response, typename Request>
  StatusOr<Response> AskAgent(const std::string& method, const Request& request);

  Bench& bench() { return bench_; }
  Programs& programs() { return *programs_; }
  PodWatch& pods() { return *pods_; }
  cli::Session& session() { return *session_; }
  const cli::DemoPlace& place() const { return place_; }

 private:
  Rig(Bench& bench, RigOptions options, cli::DemoPlace place);

  Status StartApi();
  // Returns once it serves; its kubeconfig is at `kubeconfig` then.
  Status LaunchApi(const std::string& listen, const std::string& kubeconfig);
  Status Make(const kube::Resource& resource, const Json& object);
  std::string ConfigPath() const { return place_.directory + "/agent.yaml"; }
  std::string Program(const std::string& name) const { return bench_.bin_directory + "/" + name; }

  Bench& bench_;
  const RigOptions options_;
  const cli::DemoPlace place_;
  bool waited_in_vain_ = false;
  bool has_namespace_ = false;
  Random random_{Random::Seed()};
  std::optional<Programs> programs_;
  std::unique_ptr<cli::Session> session_;
  std::unique_ptr<PodWatch> pods_;
};

template <typename Response, typename Request>
StatusOr<Response> Rig::AskAgent(const std::string& method, const Request& request) {
  ASSIGN_OR_RETURN(auto link,
                   cli::AgentLink::Open(bench_.loop, session_->dialer(), place_.agent_socket()));
  return link->Ask<Response>("/galen.inspect.v1.Inspect/" + method, request);
}

// Makes the simulated device show the sign at once; when that was, by the driver's clock, which is
// this machine's.
StatusOr<WallTime> Inject(cli::AgentLink& driver, const std::string& device,
                          const std::string& sign, const std::string& value);

}  // namespace galen::bench
