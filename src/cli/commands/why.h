// `galen why POD`: each step that led to the state of a Pod's devices. The node's agent knows them
// to the millisecond; where its socket is out of reach, the API server's objects and Events show
// what they can.
#pragma once

#include <string>
#include <vector>

#include "base/data/json.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/session.h"
#include "cli/options.h"
#include "cli/output/explanation.h"

namespace galen::inspect::v1 {
class Device;
}  // namespace galen::inspect::v1

namespace galen::cli {

// "trainer-0", "pod/trainer-0" or "train/trainer-0"; `ns` is what -n said, or "". A namespace of ""
// in the answer: any. InvalidArgument when it names no Pod, or another namespace than -n does.
StatusOr<ObjectKey> ParsePod(const std::string& text, const std::string& ns);

// What to print, as options.output says. NotFound: neither the API server nor the agent knows the
// Pod. Whatever keeps the agent from answering, the API server is asked instead and a note says so.
StatusOr<std::string> Why(const Options& options, const std::string& pod);
// The same over a session that is open.
StatusOr<std::string> Why(Session& session, const Options& options, const std::string& pod);

// As the agent explains a device of `pod`, whose uid is "" when it is gone. Others may hold the
// same device, by claims of their own; only those of this Pod are named, with ", " between several.
ExplainedDevice FromProto(const inspect::v1::Device& device, const PodRef& pod);
// The devices of `pod` in the fleet, each once, with its claims as above.
std::vector<ExplainedDevice> DevicesOf(const Fleet& fleet, const PodRef& pod);

// Those of `events` that are about the object `pod`, by time: others of its name have theirs, such
// as the Pod that it replaced. Those of one second stay as listed, by name, for names rise in time.
std::vector<ExplainedStep> StepsOf(const std::vector<Json>& events, const Json& pod);

// The kubectl command that asks the agent of the Pod's node, whose own Pod is `agent_pod`; "" when
// it is not known, and then the command has a placeholder.
std::string CommandAtNode(const kube::Pod& pod, const std::string& agent_pod);

// What to say when the agent was not asked, as `refusal` says, and the API server was. `node` is ""
// before the Pod has one; `command` asks the agent there.
std::string NoteOf(const Status& refusal, const std::string& node, const std::string& command);

// Where no Pod has this name and devices have: "; gpu-1 is a device of node-7 that Pod
// train/trainer-0 holds: …", with the command that shows more. Else "".
std::string DeviceHint(const Fleet& fleet, const std::string& name);

// For programs: times in RFC 3339, states by name; "note" when something could not be asked.
Json ToJson(const Explanation& explanation);

}  // namespace galen::cli
