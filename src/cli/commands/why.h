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

// "trainer-0", "pod/trainer-0" or "train/trainer-0"; `ns` is -n's value, or "". A namespace "" in
// the result means any. InvalidArgument when `text` names no Pod, or another namespace than -n
// does.
StatusOr<ObjectKey> ParsePod(const std::string& text, const std::string& ns);

// The v1 Pod that `key` names; without a namespace, the only one of that name anywhere. NotFound,
// or InvalidArgument that lists the namespaces when there are several.
StatusOr<Json> FindPodObject(Session& session, const ObjectKey& key);

// The output, in the form of options.output. NotFound: neither the API server nor the agent knows
// the Pod. If the agent does not answer, the API server is asked instead, with a note.
StatusOr<std::string> Why(const Options& options, const std::string& pod);
// The same over an open session.
StatusOr<std::string> Why(Session& session, const Options& options, const std::string& pod);

// The agent's explanation of a device of `pod`, whose uid is "" when it is gone. Other Pods may
// hold the same device by other claims; only this Pod's claims are named, separated by ", ".
ExplainedDevice FromProto(const inspect::v1::Device& device, const PodRef& pod);
// The devices of `pod` in the fleet, each once, with its claims as above.
std::vector<ExplainedDevice> DevicesOf(const Fleet& fleet, const PodRef& pod);

// The Events about this very Pod, by time; not those of an earlier Pod of its name. Events of one
// second stay in the order of their names, which rise in time.
std::vector<ExplainedStep> StepsOf(const std::vector<Json>& events, const Json& pod);

// The kubectl command that asks the agent of the Pod's node, whose own Pod is `agent_pod`; if that
// is "", the command has a placeholder.
std::string CommandAtNode(const kube::Pod& pod, const std::string& agent_pod);

// The note when the agent was not asked, because of `refusal`, and the API server was. `node` is ""
// before the Pod has one; `command` asks the agent there.
std::string NoteOf(const Status& refusal, const std::string& node, const std::string& command);

// A hint if no Pod but some device has this name: "; gpu-1 is a device of node-7 that Pod
// train/trainer-0 holds: …", with the command that shows more. Else "".
std::string DeviceHint(const Fleet& fleet, const std::string& name);

// For programs: times in RFC 3339, states by name; "note" if a source could not be asked.
Json ToJson(const Explanation& explanation);

}  // namespace galen::cli
