// The kinds of Pods that can hold a device, each made on a simulated node the way a person and the
// scheduler would make it, and where it must say how its device is. For tests.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/app/fake_agent_node.h"

namespace galen::agent {

// A node with an agent and a driver of two GPUs, and its object NodeDeviceHealth.
class PodScene {
 public:
  explicit PodScene(Role role);

  // A claim of one GPU; the scheduler gives the first that is free.
  void MakeClaim(const std::string& name);
  // A Pod with this spec (YAML). With `by_hand` no scheduler takes it: its claims have what
  // Allocate says, and it goes to the node by Bind.
  void MakePod(const std::string& name, std::string_view spec, bool by_hand = false);
  // A Pod whose container "main" holds the claim as "gpu".
  void MakeHolder(const std::string& name, const std::string& claim, bool by_hand = false);
  // The claim gets gpu-0, as `result` has it, for who is named by `consumer`.
  void Allocate(const std::string& claim, std::string_view result, std::string_view consumer);
  // The Pod as a consumer of a claim.
  std::string Consumer(const std::string& pod);
  void Bind(const std::string& pod);
  // A merge patch of a subresource, which the API must take.
  void Patch(const kube::Resource& resource, const std::string& name, const Json& patch,
             const std::string& subresource);

  AgentNode node;
  FakePlugin& gpus;
};

// What one kind of Pod is, and where it is said how its device is. The Pod is "p", the device
// gpu-0.
struct PodKind {
  std::string name;  // as docs/guide/every-pod.md has it
  std::function<void(PodScene&)> make;
  // A manager's entries in containerStatuses and initContainerStatuses: "container entry id".
  std::vector<std::string> main = {};
  std::vector<std::string> init = {};
  // The users of gpu-0 in the node's object: "pod container claim".
  std::vector<std::string> used_by = {"p main mine"};
  std::vector<std::string> others = {};  // Pods that hold gpu-0 as well
  std::string tail = {};                 // of the annotation, after gpu-0's sentence
};

const std::vector<PodKind>& PodKinds();

}  // namespace galen::agent
