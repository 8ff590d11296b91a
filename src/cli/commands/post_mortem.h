// `galen post-mortem [POD]`: how Pods with devices ended, also those that are gone from the API.
// The node's agent has the whole records; where its socket is out of reach, the NodeDeviceHealth
// objects have each node's last ones with a fault.
#pragma once

#include <string>
#include <vector>

#include "base/data/json.h"
#include "cli/commands/get.h"
#include "cli/options.h"
#include "cli/output/table.h"
#include "history/post_mortem/post_mortem.h"

namespace galen::inspect::v1 {
class PostMortem;
}  // namespace galen::inspect::v1

namespace galen::cli {

// Without `pod` ("" = all) a list, newest first; with it (NAME, pod/NAME or NAMESPACE/NAME) each of
// its records in full. NotFound when nothing is recorded of that Pod.
StatusOr<Answer> PostMortems(const Options& options, const std::string& pod);

// A record as it is shown. A node's object has the verdict's sentence without its evidence, so the
// sentence is stored beside the record.
struct ShownPostMortem {
  history::PostMortem record;
  std::string summary;  // of the verdict: "hardware (0.98): gpu-3 lost 2.7 s before the crash"
};

// Adds the sentence that the record's own evidence makes.
ShownPostMortem ToShown(history::PostMortem record);

// A row for each record: the Pod, when and how it ended, its most relevant device, the verdict.
Table PostMortemTable(const std::vector<ShownPostMortem>& records, bool wide, WallTime now);
// One record for people: ends, findings of each device, the verdict and, wide, all its evidence.
// Texts from outside are made printable.
std::string DrawPostMortem(const ShownPostMortem& shown, const Options& options, WallTime now);
// For programs: {"items": [...]} of docs/formats/post-mortem.md, each with the verdict's summary.
Json PostMortemJson(const std::vector<ShownPostMortem>& records);

// Decodes the agent's message.
history::PostMortem FromProto(const inspect::v1::PostMortem& record);
// Decodes what the node's object has.
ShownPostMortem FromNode(const kube::NodeDeviceHealth& node, const kube::NodePostMortem& entry);

}  // namespace galen::cli
