#include "cli/commands/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/data/yaml.h"
#include "cli/commands/get.h"
#include "cli/inspect/agent_link.h"
#include "cli/inspect/inspect_values.h"
#include "cli/output/verdict_view.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;

// Where deploy/galen.yaml installs the agents.
constexpr const char* kAgentNamespace = "galen-system";

// In order, once each.
std::string Listed(const std::set<std::string>& claims) {
  return fmt::format("{}", fmt::join(claims, ", "));
}

void AddNote(Explanation& explanation, const std::string& note) {
  explanation.note += (explanation.note.empty() ? "" : "\n") + note;
}

// The journal (docs/formats/journal.md) uses "kept" for itself; records of an older agent use
// "told" for a change published on the Pod.
std::string KindOf(const std::string& record) {
  if (record == "kept") return "recorded";
  if (record == "told") return "published";
  return record;
}

struct FoundPod {
  kube::Pod pod;
  Json object;  // as in the API
};

// The answer of this node's agent; NotFound when it does not know the Pod.
StatusOr<Explanation> AskAgent(Session& session, const Options& options, const ObjectKey& pod) {
  ASSIGN_OR_RETURN(auto agent, AgentLink::OpenAgent(session.loop(), session.dialer(),
                                                    options.agent_socket, session.interrupt()));
  wire::ExplainRequest request;
  request.set_namespace_(pod.ns);
  request.set_pod(pod.name);
  ASSIGN_OR_RETURN(const auto answer,
                   agent->Ask<wire::ExplainResponse>("/galen.inspect.v1.Inspect/Explain", request));
  Explanation explanation{
      .pod = pod, .node = answer.node(), .devices = {}, .steps = {}, .note = ""};
  // For a Pod that is gone only the agent knows the namespace.
  if (explanation.pod.ns.empty()) explanation.pod.ns = answer.namespace_();
  const PodRef asked{explanation.pod, answer.pod_uid()};
  for (const wire::Device& device : answer.devices())
    explanation.devices.push_back(FromProto(device, asked));
  for (const wire::Step& step : answer.steps()) {
    explanation.steps.push_back({FromNanos(step.unix_nanos()), KindOf(step.kind()), step.text(),
                                 step.source(), step.device(), step.message()});
  }
  explanation.verdict = VerdictOf(answer);
  explanation.phase = answer.phase();
  if (answer.asked_to_go_unix_nanos() != 0) {
    explanation.asked_to_go = FromNanos(answer.asked_to_go_unix_nanos());
  }
  for (const std::string& note : answer.notes()) AddNote(explanation, note);
  explanation.gone = answer.pod_uid().empty();
  explanation.devices_awaited = answer.devices_awaited();
  return explanation;
}

ExplainedStep FromEvent(const Json& event) {
  const std::string& last = event["lastTimestamp"].AsString();
  const std::string& time = last.empty() ? event["eventTime"].AsString() : last;
  const std::string& source = event["source"]["component"].AsString();
  // An Event without a readable time comes first rather than not at all.
  const StatusOr<WallTime> when = ParseRfc3339(time);
  return {.time = when.ok() ? *when : WallTime{},
          .kind = "event",
          .text = event["reason"].AsString() + ": " + event["message"].AsString(),
          .source = source.empty() ? event["reportingComponent"].AsString() : source,
          // metav1.Time has whole seconds, metav1.MicroTime has not.
          .to_the_second = time.find('.') == std::string::npos};
}

// The agent's Pod on `node`, as deploy/galen.yaml installs it; "" when none is visible. Searched
// only in that namespace, which has no users' Pods: elsewhere anyone may choose the label.
std::string AgentPodOn(Session& session, const std::string& node) {
  const auto found = session.List(kube::kPods, kAgentNamespace,
                                  {.field = "spec.nodeName=" + node + ",status.phase=Running",
                                   .label = "app.kubernetes.io/name=galen-agent"});
  if (!found.ok() || found->empty()) return "";
  return found->front()["metadata"]["name"].AsString();
}

// The API server's answer, when the agent only gave `refusal`.
StatusOr<Explanation> AskApi(Session& session, const FoundPod& found, const Status& refusal) {
  const kube::Pod& pod = found.pod;
  const std::string command = CommandAtNode(pod, AgentPodOn(session, pod.node));
  // The whole fleet, since a device's state is joined from objects of several kinds.
  const StatusOr<FetchedFleet> fleet = FetchFleet(session, "");
  if (fleet.status().code() == Code::kPermissionDenied && !pod.node.empty()) {
    return PermissionDenied("Pod {} runs on {}, whose agent knows why: {} (here: {})",
                            ToString(pod.meta.key), pod.node, command, fleet.status().message());
  }
  if (!fleet.ok()) return fleet.status();
  const FetchedFleet& fetched = *fleet;
  const WallTime now = session.loop().WallNow();
  Explanation explanation{
      .pod = pod.meta.key, .node = pod.node, .devices = {}, .steps = {}, .note = ""};
  explanation.devices = DevicesOf(JoinFleet(fetched.objects, now), pod.ref());
  ASSIGN_OR_RETURN(
      const std::vector<Json> events,
      session.List(kube::kEvents, pod.meta.key.ns,
                   {.field = "involvedObject.kind=Pod,involvedObject.name=" + pod.meta.key.name,
                    .label = ""}));
  explanation.steps = StepsOf(events, found.object);
  explanation.phase = pod.phase;
  explanation.asked_to_go = pod.asked_to_go;
  // Which device a device plugin gave to the Pod only its node knows, unless a health source
  // reports it.
  const bool ended = pod.phase == "Succeeded" || pod.phase == "Failed";
  explanation.devices_awaited =
      !ended && explanation.devices.empty() && kube::WantsPluginDevices(pod);
  explanation.note = NoteOf(refusal, pod.node, command);
  for (const std::string& note : fetched.notes) AddNote(explanation, note);
  return explanation;
}

StatusOr<FoundPod> FindPod(Session& session, const ObjectKey& key) {
  ASSIGN_OR_RETURN(Json object, FindPodObject(session, key));
  ASSIGN_OR_RETURN(kube::Pod pod, kube::DecodePod(object));
  return FoundPod{std::move(pod), std::move(object)};
}

// Adds a hint to `missing` if `name` is a device and no Pod.
Status WithDeviceHint(Session& session, const Status& missing, const std::string& name) {
  if (missing.code() != Code::kNotFound) return missing;
  const StatusOr<FetchedFleet> fetched = FetchFleet(session, "");
  // The hint is optional: if it cannot be given, the original error stays.
  if (!fetched.ok()) return missing;
  const Fleet fleet = JoinFleet(fetched->objects, session.loop().WallNow());
  return NotFound("{}{}", missing.message(), DeviceHint(fleet, name));
}

}  // namespace

StatusOr<Json> FindPodObject(Session& session, const ObjectKey& key) {
  ASSIGN_OR_RETURN(
      std::vector<Json> found,
      session.List(kube::kPods, key.ns, {.field = "metadata.name=" + key.name, .label = ""}));
  if (found.empty()) {
    return NotFound("no Pod {} in {}", key.name,
                    key.ns.empty() ? "any namespace" : "namespace " + key.ns);
  }
  if (found.size() > 1) {
    std::string places;
    for (const Json& pod : found) places += " " + pod["metadata"]["namespace"].AsString();
    return InvalidArgument("Pod {} is in several namespaces:{}; choose one by -n", key.name,
                           places);
  }
  return std::move(found.front());
}

StatusOr<ObjectKey> ParsePod(const std::string& text, const std::string& ns) {
  const std::size_t slash = text.find('/');
  const std::string before = slash == std::string::npos ? "" : text.substr(0, slash);
  const std::string name = slash == std::string::npos ? text : text.substr(slash + 1);
  if (name.empty() || name.find('/') != std::string::npos) {
    return InvalidArgument("'{}' names no Pod: write NAME, pod/NAME or NAMESPACE/NAME", text);
  }
  const bool kind = before == "pod" || before == "pods" || before == "po";
  if (before.empty() || kind) return ObjectKey{ns, name};
  if (!ns.empty() && ns != before) {
    return InvalidArgument("'{}' is not in namespace {}, which -n names", text, ns);
  }
  return ObjectKey{before, name};
}

ExplainedDevice FromProto(const wire::Device& device, const PodRef& pod) {
  ExplainedDevice explained;
  explained.identity = {
      {device.driver(), device.pool(), device.device()}, device.serial(), device.model()};
  explained.health.id = explained.identity.id;
  explained.health.state = ParseHealthState(device.state()).value_or(HealthState::kUnknown);
  explained.health.share = device.share();
  explained.health.since = FromNanos(device.since_unix_nanos());
  explained.health.cause = FromProto(device.cause());
  std::set<std::string> claims;
  for (const wire::Holder& holder : device.holders()) {
    if (ObjectKey{holder.namespace_(), holder.pod()} != pod.key) continue;
    if (pod.uid.empty() || holder.pod_uid() == pod.uid) claims.insert(holder.claim());
  }
  explained.claim = Listed(claims);
  return explained;
}

std::vector<ExplainedDevice> DevicesOf(const Fleet& fleet, const PodRef& pod) {
  std::vector<ExplainedDevice> devices;
  for (const DeviceView& device : fleet.devices) {
    std::set<std::string> claims;
    for (const Holding& holding : device.holders) {
      if (PodRef{holding.pod, holding.pod_uid} == pod) claims.insert(holding.claim);
    }
    if (!claims.empty()) devices.push_back({device.identity, device.health, Listed(claims)});
  }
  return devices;
}

std::vector<ExplainedStep> StepsOf(const std::vector<Json>& events, const Json& pod) {
  const Json& meta = pod["metadata"];
  // The kubelet's Events of a static Pod name its own object; the API has a mirror of it.
  const std::string& mirrored = meta["annotations"]["kubernetes.io/config.mirror"].AsString();
  std::vector<ExplainedStep> sorted;
  for (const Json& event : events) {
    const Json& about = event["involvedObject"];
    const std::string& uid = about["uid"].AsString();
    const bool is_its = uid == meta["uid"].AsString() || (!mirrored.empty() && uid == mirrored);
    if (about["kind"].AsString() != "Pod" || !is_its) continue;
    ExplainedStep step = FromEvent(event);
    const auto after = std::ranges::upper_bound(sorted, step.time, {}, &ExplainedStep::time);
    sorted.insert(after, std::move(step));
  }
  return sorted;
}

std::string CommandAtNode(const kube::Pod& pod, const std::string& agent_pod) {
  return fmt::format("kubectl -n {} exec {} -- galen why -n {} {}", kAgentNamespace,
                     agent_pod.empty() ? "AGENT-POD" : agent_pod, pod.meta.key.ns,
                     pod.meta.key.name);
}

std::string NoteOf(const Status& refusal, const std::string& node, const std::string& command) {
  std::string note = "The agent was not asked: " + refusal.message() + ".";
  note += " This is what the API server knows";
  if (node.empty()) return note + ".";
  return note + "; the agent of node " + node + " knows more:\n  " + command;
}

std::string DeviceHint(const Fleet& fleet, const std::string& name) {
  std::vector<const DeviceView*> meant;
  for (const DeviceView& device : fleet.devices) {
    if (device.identity.id.device == name) meant.push_back(&device);
  }
  if (meant.empty()) return "";
  // Each node numbers its devices from 0, and so does each driver of a node.
  if (meant.size() > 1) {
    std::set<std::string> nodes;
    for (const DeviceView* device : meant) nodes.insert(device->node);
    std::string whose = fmt::format("a device of {} nodes", nodes.size());
    if (nodes.size() == 1) {
      whose = fmt::format("the name of {} devices of {}", meant.size(), *nodes.begin());
    }
    return fmt::format("; {} is {}: `galen get devices {}` lists who holds each", name, whose,
                       name);
  }
  const DeviceView& device = *meant.front();
  if (device.holders.empty()) {
    return fmt::format("; {} is a device of {} that no Pod holds: `galen get devices {}` shows it",
                       name, device.node, name);
  }
  const std::string pod = ToString(device.holders.front().pod);
  return fmt::format("; {} is a device of {} that Pod {} holds: `galen why {}`", name, device.node,
                     pod, pod);
}

Json ToJson(const Explanation& explanation) {
  Json::Array devices, steps;
  for (const ExplainedDevice& device : explanation.devices) {
    devices.push_back(Json::MakeObject({{"device", ToString(device.identity.id)},
                                        {"serial", device.identity.serial},
                                        {"model", device.identity.model},
                                        {"state", ToString(device.health.state)},
                                        {"since", FormatRfc3339(device.health.since, 3)},
                                        {"code", device.health.cause.code},
                                        {"message", device.health.cause.message},
                                        {"claim", device.claim}}));
  }
  for (const ExplainedStep& step : explanation.steps) {
    steps.push_back(
        Json::MakeObject({{"time", FormatRfc3339(step.time, step.to_the_second ? 0 : 6)},
                          {"kind", step.kind},
                          {"device", step.device},
                          {"text", step.text},
                          {"message", step.message},
                          {"source", step.source}}));
  }
  Json json = Json::MakeObject({{"namespace", explanation.pod.ns},
                                {"pod", explanation.pod.name},
                                {"node", explanation.node},
                                {"devices", std::move(devices)},
                                {"steps", std::move(steps)}});
  if (!explanation.phase.empty()) json["phase"] = explanation.phase;
  if (explanation.asked_to_go) json["askedToGo"] = FormatRfc3339(*explanation.asked_to_go, 3);
  if (explanation.verdict) json["verdict"] = ToJson(*explanation.verdict);
  // Marks that more devices may follow: otherwise the list would look complete.
  if (explanation.devices_awaited) json["devicesAwaited"] = true;
  if (!explanation.note.empty()) json["note"] = explanation.note;
  return json;
}

StatusOr<std::string> Why(const Options& options, const std::string& pod) {
  RETURN_IF_ERROR(ParsePod(pod, options.ns).status());
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const auto session, Session::Open(*loop, options));
  return Why(*session, options, pod);
}

StatusOr<std::string> Why(Session& session, const Options& options, const std::string& pod) {
  ASSIGN_OR_RETURN(const ObjectKey named, ParsePod(pod, options.ns));
  const StatusOr<FoundPod> found = FindPod(session, named);
  // The agent here may know another Pod of this name.
  if (found.status().code() == Code::kInvalidArgument) return found.status();
  const ObjectKey key = found.ok() ? found->pod.meta.key : named;
  StatusOr<Explanation> explanation = AskAgent(session, options, key);
  // The agent may still know a Pod that is gone; the API knows Pods of other nodes.
  if (!explanation.ok()) {
    if (!found.ok()) return WithDeviceHint(session, found.status(), named.name);
    explanation = AskApi(session, *found, explanation.status());
  }
  if (!explanation.ok()) return explanation.status();
  if (!found.ok() && found.status().code() != Code::kNotFound) {
    const std::string& why = found.status().message();
    AddNote(*explanation,
            "The API server gave no answer: " + why + (why.ends_with('.') ? "" : "."));
  }
  if (options.output == "json") return ToJson(*explanation).DumpPretty(2) + "\n";
  if (options.output == "yaml") return WriteYaml(ToJson(*explanation));
  return Draw(*explanation, session.loop().WallNow(),
              {.colour = options.colour, .columns = options.columns});
}

}  // namespace galen::cli
