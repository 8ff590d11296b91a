#include "cli/commands/post_mortem.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/data/yaml.h"
#include "base/text.h"
#include "cli/commands/why.h"
#include "cli/inspect/agent_link.h"
#include "cli/inspect/decode_all.h"
#include "cli/output/tone.h"
#include "history/post_mortem/post_mortem_text.h"
#include "history/post_mortem/relevant_finding.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;
using history::PostMortem;
using history::PostMortemDevice;
using history::ReceivedFinding;

struct Asked {
  std::vector<ShownPostMortem> records;
  std::vector<std::string> notes;
  std::string node;  // whose agent returned it; "" = the API server, of all nodes
};

bool IsAsked(const PostMortem& record, const ObjectKey& pod) {
  return (pod.ns.empty() || record.pod.key.ns == pod.ns) &&
         (pod.name.empty() || record.pod.key.name == pod.name);
}

// The records of this node's agent.
StatusOr<Asked> AskAgent(EpollLoop& loop, net::Dialer& dialer, const Options& options,
                         const ObjectKey& pod) {
  ASSIGN_OR_RETURN(auto agent, AgentLink::OpenAgent(loop, dialer, options.agent_socket));
  wire::ListPostMortemsRequest request;
  request.set_namespace_(pod.ns);
  request.set_pod(pod.name);
  ASSIGN_OR_RETURN(const auto answer, agent->Ask<wire::ListPostMortemsResponse>(
                                          "/galen.inspect.v1.Inspect/ListPostMortems", request));
  Asked asked;
  for (const wire::PostMortem& record : answer.post_mortems()) {
    asked.records.push_back(ToShown(FromProto(record)));
  }
  asked.node = answer.node();
  if (answer.left_out() > 0) {
    asked.notes.push_back(fmt::format(
        "{} older records are not shown; name a Pod to see all of its", answer.left_out()));
  }
  return asked;
}

// The records in the nodes' objects; `unasked` is the reason why no agent was asked.
StatusOr<Asked> AskApi(EpollLoop& loop, const Options& options, const ObjectKey& pod,
                       const std::string& unasked) {
  ASSIGN_OR_RETURN(const auto session, Session::Open(loop, options));
  ASSIGN_OR_RETURN(const std::vector<Json> objects, session->List(kube::kNodeDeviceHealths, ""));
  Asked asked;
  asked.notes.push_back(unasked);
  asked.notes.push_back(
      "this is what the nodes' objects hold, the last ends with a fault; the agents know more");
  for (const kube::NodeDeviceHealth& node :
       DecodeAll(objects, kube::kNodeDeviceHealths, kube::DecodeNodeDeviceHealth, asked.notes)) {
    for (const kube::NodePostMortem& entry : node.post_mortems) {
      ShownPostMortem shown = FromNode(node, entry);
      if (IsAsked(shown.record, pod)) asked.records.push_back(std::move(shown));
    }
  }
  std::ranges::stable_sort(asked.records, std::ranges::greater(),
                           [](const ShownPostMortem& shown) { return shown.record.ended; });
  return asked;
}

// The device's health when the Pod ended, whatever came before or after.
Table::Cell HealthAtTheEnd(const PostMortem& record, const PostMortemDevice& device) {
  const ReceivedFinding* finding = history::FindingAtTheEnd(record, device);
  if (finding == nullptr) return "";
  return {StateText(finding->health), ToneOf(finding->health.state)};
}

// "hardware (0.98)"
std::string ShortVerdict(const ShownPostMortem& shown) {
  return shown.summary.substr(0, shown.summary.find(':'));
}

std::string ExitText(const PostMortem& record) {
  const ContainerEnd* end = history::MostRelevantEnd(record);
  if (end == nullptr || !end->exit_code) return "";
  const std::optional<int> signal = SignalOf(*end);
  const std::string code = std::to_string(*end->exit_code);
  return signal ? code + " " + history::SignalName(*signal) : code;
}

std::string ClockTime(WallTime time) { return FormatRfc3339(time, 3).substr(11, 12); }

// "Unhealthy since 14:02:11.304: XID 79: …"
std::string FindingText(const ReceivedFinding& finding, bool colour) {
  const DeviceHealth& health = finding.health;
  std::string text = Paint(StateText(health), ToneOf(health.state), colour);
  if (health.since != WallTime{}) text += " since " + FormatRfc3339(health.since, 3);
  const std::string& why = health.cause.message.empty() ? health.cause.code : health.cause.message;
  if (!why.empty()) text += ": " + Printable(why);
  // A delay is shown if the finding was reported later than its sign.
  const Duration late = finding.received - health.since;
  if (health.since != WallTime{} && late >= std::chrono::minutes(1) &&
      finding.received != WallTime{}) {
    text += ", reported " + FormatAge(late) + " later";
  }
  return text;
}

std::string Line(std::string_view name, const std::string& body) {
  return fmt::format("  {:<10}  {}\n", name, body);
}

std::string MessageLines(std::string_view message) {
  std::string text;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    text += Line("", Printable(message.substr(0, end)));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return text;
}

std::string DrawDevice(const PostMortemDevice& device, bool colour) {
  std::string identity =
      "driver " + device.identity.id.driver + ", pool " + device.identity.id.pool;
  if (!device.identity.model.empty()) identity = device.identity.model + ", " + identity;
  if (!device.identity.serial.empty()) identity += ", serial " + device.identity.serial;
  if (!device.claim.empty()) identity += ", claim " + device.claim;
  std::string text = Line(Printable(device.identity.id.device), Printable(identity));
  for (const ReceivedFinding& finding : device.findings)
    text += Line("", FindingText(finding, colour));
  return text;
}

std::string DrawEvidence(const std::vector<Evidence>& all, std::string_view name) {
  std::string text;
  for (const Evidence& evidence : all) {
    text += Line(name, fmt::format("{:.2f} {}: {}", evidence.weight, Printable(evidence.rule),
                                   Printable(evidence.sentence)));
  }
  return text;
}

StatusOr<std::string> ShowPostMortems(const std::vector<ShownPostMortem>& records, bool whole,
                                      const Options& options, WallTime now) {
  if (options.output == "json") return PostMortemJson(records).DumpPretty(2) + "\n";
  if (options.output == "yaml") return WriteYaml(PostMortemJson(records));
  if (!whole) return PostMortemTable(records, options.wide(), now).Text(options.colour);
  std::string text;
  for (const ShownPostMortem& shown : records) {
    text += (text.empty() ? "" : "\n") + DrawPostMortem(shown, options, now);
  }
  return text;
}

// The node's agent answers only for its own node, which a list of rows does not show.
std::string WhoseList(const Asked& asked, const Options& options) {
  const std::string where = options.ns.empty() ? "" : " in namespace " + options.ns;
  if (asked.node.empty()) {
    // An end without a fault is in no node's object.
    return asked.records.empty() ? "no node's object records a Pod's end" + where : "";
  }
  if (asked.records.empty()) {
    return fmt::format("no Pod with devices has ended on {}{}; other nodes' agents know theirs",
                       asked.node, where);
  }
  // For people; programs find the node in each record.
  if (options.output == "json" || options.output == "yaml") return "";
  return fmt::format("of {} only; other nodes' agents know theirs", asked.node);
}

}  // namespace

ShownPostMortem ToShown(PostMortem record) {
  std::string summary = history::VerdictText(record);
  return {.record = std::move(record), .summary = std::move(summary)};
}

Table PostMortemTable(const std::vector<ShownPostMortem>& records, bool wide, WallTime now) {
  std::vector<std::string> header = {"NAMESPACE", "POD",    "ENDED",  "END",
                                     "EXIT",      "DEVICE", "HEALTH", "VERDICT"};
  if (wide) header.insert(header.end(), {"NODE", "UID", "RECORD"});
  header.push_back("DETAIL");
  Table table(header, 2);
  for (const ShownPostMortem& shown : records) {
    const PostMortem& record = shown.record;
    const PostMortemDevice* device =
        record.devices.empty() ? nullptr : &history::MostRelevantDevice(record);
    std::vector<Table::Cell> cells = {record.pod.key.ns, record.pod.key.name,
                                      FormatAge(now - record.ended),
                                      std::string(ToString(record.end)), ExitText(record)};
    cells.push_back(device == nullptr ? "" : device->identity.id.device);
    cells.push_back(device == nullptr ? "" : HealthAtTheEnd(record, *device));
    cells.push_back(ShortVerdict(shown));
    if (wide) {
      cells.insert(cells.end(), {record.node, record.pod.uid, std::to_string(record.number)});
    }
    const auto finding = MostRelevantFinding(record);
    cells.push_back(finding ? history::DetailOf(*finding) : "");
    table.Add(std::move(cells), ToString(record.pod.key));
  }
  return table;
}

std::string DrawPostMortem(const ShownPostMortem& shown, const Options& options, WallTime now) {
  const PostMortem& record = shown.record;
  std::string text =
      fmt::format("{} on {}: {}, {} ({} ago).\n", Printable(ToString(record.pod.key)),
                  Printable(record.node), Printable(history::EndText(record)),
                  FormatRfc3339(record.ended, 3), FormatAge(now - record.ended));
  for (const ContainerEnd& end : record.containers) {
    std::string body = Printable(history::TextOf(end));
    if (end.finished) body += " at " + ClockTime(*end.finished);
    text += Line(IsCrash(record, end) ? "crash" : "end", body);
    text += MessageLines(end.message);
  }
  for (const PostMortemDevice& device : record.devices) text += DrawDevice(device, options.colour);
  if (record.devices_left_out > 0) {
    text += Line("", fmt::format("and {} devices more", record.devices_left_out));
  }
  text += Line("verdict", Printable(shown.summary));
  if (!options.wide()) return text;
  return text + DrawEvidence(record.verdict.supporting, "for") +
         DrawEvidence(record.verdict.opposing, "against");
}

Json PostMortemJson(const std::vector<ShownPostMortem>& records) {
  Json json = Json::MakeObject({{"items", Json::Array{}}});
  for (const ShownPostMortem& shown : records) {
    Json item = history::ToJson(shown.record);
    item["verdict"]["summary"] = shown.summary;
    json["items"].Append(std::move(item));
  }
  return json;
}

StatusOr<Answer> PostMortems(const Options& options, const std::string& pod) {
  ObjectKey key{options.ns, ""};
  if (!pod.empty()) {
    ASSIGN_OR_RETURN(key, ParsePod(pod, options.ns));
  }
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  const auto dialer = net::MakeDialer(*loop);
  StatusOr<Asked> asked = AskAgent(*loop, *dialer, options, key);
  std::string unasked;  // why the API server is asked
  if (!asked.ok()) {
    unasked = fmt::format("the agent was not asked ({})", asked.status().message());
  } else if (asked->records.empty() && !pod.empty()) {
    // A Pod of another node is known only to that node's agent, and to the API server if it had a
    // fault.
    unasked = fmt::format("the agent of {} has no record of it", asked->node);
  }
  if (!unasked.empty()) asked = AskApi(*loop, options, key, unasked);
  if (!asked.ok()) {
    return Annotate(asked.status(), "no record of {}: {}, and the API server",
                    pod.empty() ? "any Pod" : "pod " + pod, unasked);
  }
  if (asked->records.empty() && !pod.empty()) {
    return NotFound(
        "no record of pod {}: {}, and no node's object has one; ask on the Pod's node, or see by "
        "`galen post-mortem` what is known here",
        pod, unasked);
  }
  if (pod.empty()) {
    if (std::string note = WhoseList(*asked, options); !note.empty()) {
      asked->notes.push_back(std::move(note));
    }
  }
  ASSIGN_OR_RETURN(std::string text,
                   ShowPostMortems(asked->records, !pod.empty(), options, loop->WallNow()));
  return Answer{std::move(text), std::move(asked->notes)};
}

}  // namespace galen::cli
