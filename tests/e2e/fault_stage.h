// A node to break: an API that keeps what it knows, our agent in the kubelet's place, and two
// drivers with a Pod on a device of each. "trainer-0" is the one that things happen to;
// "bystander-0" holds a device of another driver, which most faults must leave alone. Belongs to
// the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {

inline constexpr const char* kTrainer = "trainer-0";
inline constexpr const char* kBystander = "bystander-0";
inline constexpr const char* kDriver = "gpu.example.com";
inline constexpr const char* kOtherDriver = "spare.example.com";

class FaultStage {
 public:
  FaultStage();

  // Starts everything and waits until both Pods, their containers' status and the node's object say
  // Healthy; false when that does not come. What programs are to be like is said before.
  bool Up();
  // Lines of the agent's configuration file, beside those that say where things are.
  void Configure(const std::string& lines) { agent_lines_ = lines; }
  void DriverFlags(std::vector<std::string> flags) { driver_flags_ = std::move(flags); }
  // A program and its arguments that agents to come are started by; {}: by nobody.
  void AgentRunner(std::vector<std::string> runner) { agent_runner_ = std::move(runner); }
  // Where agents and drivers to come are; those of this build unless set.
  void Programs(const std::string& directory) { programs_ = directory; }
  // What the programs of the node know the API by; the administrator's kubeconfig unless set.
  void NodeKubeconfig(const std::string& path) { node_kubeconfig_ = path; }

  Program& agent() { return *agent_; }
  Program& driver() { return *driver_; }
  Program& other_driver() { return *other_driver_; }
  // Once more, after its end or beside the one before.
  Program& StartAgent(const std::vector<std::string>& flags = {});
  Program& StartDriver(const std::vector<std::string>& flags = {});
  Program& StartOtherDriver();
  // Sends the signal and waits for the end.
  void End(Program& program, int signal);
  // SIGSTOP, and waits until the kernel has stopped it: a signal alone is not at once.
  void Pause(Program& program);
  void Resume(Program& program) { program.Signal(SIGCONT); }
  // kill -9 to the API; and the same one again: its place, its data, its credentials.
  void KillApi() { End(fleet_.cluster().program(), SIGKILL); }
  void StartApi(const std::vector<std::string>& more = {});

  // What the API says at this moment; null and "" where it does not answer.
  Json Pod(const std::string& name);
  // The Pod's annotation, which kubectl describe shows: "gpu-0 Unhealthy since …: XID 79: …".
  std::string LineOf(const std::string& pod);
  // The one health in allocatedResourcesStatus: what Kubernetes itself has a field for.
  std::string HealthOf(const std::string& pod);
  // Status and reason of the condition: "False XidGpuLost".
  std::string ConditionOf(const std::string& pod);
  // Waits until the Pod's line has all these texts; fails the test with the line when it does not.
  void ExpectSays(const std::string& pod, const std::vector<std::string>& texts);

  // `galen` with the flags that lead to this cluster and agent.
  Outcome Galen(const std::vector<std::string>& arguments) { return fleet_.Galen(arguments); }
  // Waits until `galen why` has all these texts of the Pod, and gives what it printed; fails the
  // test with that when it does not.
  std::string ExpectWhy(const std::string& pod, const std::vector<std::string>& texts);
  // The same of `galen doctor`.
  // The same of any command of `galen`.
  std::string Expect(const std::vector<std::string>& command,
                     const std::vector<std::string>& texts);
  std::string ExpectDoctor(const std::vector<std::string>& texts);
  // Since when the Pod's device is as it is, by the agent, in milliseconds: RFC 3339.
  std::string SinceOf(const std::string& pod);
  // The Pod's device is as it is since this time, within a second: a driver that had been stopped
  // was once seen to date the same state 10 ms earlier than it first did.
  void ExpectSince(const std::string& pod, const std::string& since);
  // The texts of all steps of a kind that `galen why` shows for the Pod.
  std::vector<std::string> Steps(const std::string& pod, const std::string& kind);
  // No change of its device was kept since Up(), and its time is what it was.
  void ExpectBystanderUntouched();

  // Makes the trainer's GPU fall off the bus, and gives the time of it, as SinceOf does. Its driver
  // must be there to see it; the agent need not.
  std::string LoseGpu(const std::string& socket = "dra.sock");
  // Lets real time pass; for what a deadline that passes must not do.
  void Let(Duration pass);
  // A Pod with a device of this driver, by a template; the API makes and places it.
  void MakePod(const std::string& pod, const std::string& driver);

  FleetStage& fleet() { return fleet_; }
  Stage& stage() { return fleet_.stage(); }
  std::string Path(const std::string& name) { return stage().Path(name); }

 private:
  // How many devices the node's NodeDeviceHealth counts as Healthy.
  std::size_t HealthyOnNode();
  std::vector<std::string> DriverCommand(const std::string& name, const std::string& devices);
  Json Why(const std::string& pod);

  std::string ProgramPath(const std::string& name) const;

  FleetStage fleet_;
  std::string agent_lines_, node_kubeconfig_, programs_;
  std::vector<std::string> driver_flags_, agent_runner_;
  Program* agent_ = nullptr;
  Program* driver_ = nullptr;
  Program* other_driver_ = nullptr;
  std::string bystander_since_;
  std::vector<std::string> bystander_changes_;
};

}  // namespace galen::e2e
