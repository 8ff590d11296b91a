// Answers what the agent knows, on its own socket: for `galen` and other local programs. Belongs to
// the agent's loop; reads borrowed parts and changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/app/pod_resources_join.h"
#include "agent/drivers/plugin_manager.h"
#include "agent/health/change_log.h"
#include "agent/health/health_keeper.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "agent/post_mortem/post_mortem_keeper.h"
#include "rpc/newest_stream.h"
#include "rpc/service.h"

namespace galen::inspect::v1 {
class PostMortem;
}

namespace galen::agent {

// What GetStatus answers beyond what the parts know. `troubles` are sentences; empty when there is
// no problem.
struct AgentStatus {
  std::string version, node, role;
  WallTime started{};
  std::uint64_t api_writes = 0;
  std::uint64_t pod_writes = 0;  // those to Pods
  std::vector<std::string> troubles;
  std::vector<std::string> holding_differences;  // PodResourcesJoin::differences()
  bool all_published = false;                    // Pods and the node's object say all that is known
};

// The service galen.inspect.v1.Inspect. Every answer is made from the present when it is asked for;
// nothing is cached. The socket's mode and rpc::PeerGate decide who may ask.
class InspectService {
 public:
  static constexpr std::size_t kWatchersMax = 64;  // more are refused
  // In one answer; older records are counted only. Half of what a gRPC client takes by default.
  static constexpr std::size_t kPostMortemBytesMax = std::size_t{2} << 20;

  // The parts whose values it answers with.
  struct Parts {
    Loop& loop;
    const HealthKeeper& keeper;
    const ClaimIndex& claims;
    const NodeView& view;
    const PluginManager& plugins;
    const PluginManager& health_sources;
    const ChangeLog& journal;
    PostMortemKeeper& post_mortems;
    std::function<DeviceHealth(const DeviceId&)> health_of;  // as Pods show it
    std::function<AgentStatus()> status;
    const PodResourcesJoin* pod_resources = nullptr;  // beside a kubelet
  };

  // Adds its methods to `dispatcher`, which calls this for as long as it serves. Parts are
  // borrowed.
  InspectService(Parts parts, rpc::Dispatcher& dispatcher);
  ~InspectService();

  // What ListDevices answers may have changed: watchers get the newest, once for all calls
  // of one turn of the loop.
  void Changed();

 private:
  struct Wire;  // knows the messages

  // Sends the present list first, then the newest after each change; a slow reader misses what is
  // in between.
  void Watch(std::unique_ptr<rpc::StreamWriter> writer);

  Parts parts_;
  std::map<std::uint64_t, std::unique_ptr<rpc::NewestStream>> watchers_;
  std::uint64_t next_watcher_ = 0;
  Timer send_;
};

// Serial and model as the driver reported them, else as its slices do; "" where neither does.
DeviceIdentity IdentityOf(const DeviceId& id, const HealthKeeper& keeper, const NodeView& view);
// Every device that a driver reported or a Pod holds, in no order.
std::vector<DeviceHealth> AllDevices(const HealthKeeper& keeper, const ClaimIndex& claims,
                                     const std::function<DeviceHealth(const DeviceId&)>& health_of);
// The record as the service sends it. Times that are not known are 0; `out` is empty before.
void PutPostMortem(const history::PostMortem& record, galen::inspect::v1::PostMortem& out);

}  // namespace galen::agent
