// How Pods end on a simulated node, as a kubelet shows it, and what is left of them on the agent's
// disk. For tests.
#pragma once

#include <string>
#include <vector>

#include "agent/app/fake_agent_node.h"
#include "api_sim/objects/fake_objects.h"
#include "history/post_mortem/post_mortem.h"

namespace galen::agent {

// Long enough that a driver which says nothing new is not taken for silent.
inline constexpr int kReportHoldsSeconds = 86'400;

FakeReport Well(const std::string& device);
FakeReport Lost(const std::string& device, const std::string& message = "XID 79: lost");

// The container ended just now with this code, for good or to run again.
void CrashContainer(AgentNode& node, const std::string& pod, int code, bool for_good);
// Its container ends just now without a fault, and the Pod with it.
void Succeed(AgentNode& node, const std::string& pod);
// From now on a deletion waits until somebody lets the Pod go, as for a kubelet that cannot
// unprepare its claims.
void Hold(AgentNode& node, const std::string& pod);
void LetGo(AgentNode& node, const std::string& pod);
void Evict(AgentNode& node, const std::string& pod);
// As when a kubelet has given the devices of all claims back: they are nobody's, whether their Pods
// are said to have ended by then or not.
void GiveBack(AgentNode& node);

// What a power cut would leave: the agent is killed, and the disk read. Newest first.
std::vector<history::PostMortem> RecordsOnDisk(AgentNode& node);

}  // namespace galen::agent
