#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>

#include "api_sim/storage/presentation.h"

namespace galen::api_sim {
namespace {

constexpr const char* kNone = "<none>";

Json TextOr(const Json& value, const char* otherwise) {
  if (value.is_null() || (value.is_string() && value.AsString().empty())) return otherwise;
  return value.is_string() ? value : Json(value.Dump());
}

std::string AgeOf(const Json& time, WallTime now) {
  const StatusOr<WallTime> then = ParseRfc3339(time.AsString());
  return then.ok() ? FormatAge(now - *then) : "<unknown>";
}

const Json& ConditionOf(const Json& object, std::string_view type) {
  static const Json kAbsent;
  const Json::Array& conditions = object["status"]["conditions"].items();
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [type](const Json& c) { return c["type"].AsString() == type; });
  return it == conditions.end() ? kAbsent : *it;
}

// Why a container is not just running, or "".
std::string TroubleOf(const Json& status) {
  const Json& state = status["state"];
  const std::string& waiting = state["waiting"]["reason"].AsString();
  if (!waiting.empty()) return waiting;
  if (!state.Has("terminated")) return "";
  const Json& ended = state["terminated"];
  if (!ended["reason"].AsString().empty()) return ended["reason"].AsString();
  return ended["signal"].AsInt() != 0 ? fmt::format("Signal:{}", ended["signal"].AsInt())
                                      : fmt::format("ExitCode:{}", ended["exitCode"].AsInt());
}

// "Init:1/2", "Init:Error": the first init container that is not done, or "".
std::string InitTroubleOf(const Json& pod) {
  const Json& statuses = pod["status"]["initContainerStatuses"];
  for (std::size_t i = 0; i < statuses.items().size(); ++i) {
    const Json& state = statuses[i]["state"];
    const bool done = state.Has("terminated") && state["terminated"]["exitCode"].AsInt() == 0;
    // Finished, or a sidecar that is up.
    if (done || statuses[i]["started"].AsBool()) continue;
    const std::string trouble = TroubleOf(statuses[i]);
    if (!trouble.empty() && trouble != "PodInitializing") return "Init:" + trouble;
    return fmt::format("Init:{}/{}", i, pod["spec"]["initContainers"].items().size());
  }
  return "";
}

// "Running", "CrashLoopBackOff", "Init:1/2", "Terminating", …: the worst state that applies.
std::string PodStatus(const Json& pod) {
  const Json& status = pod["status"];
  std::string reason = status["reason"].AsString();
  if (reason.empty()) reason = status["phase"].AsString();
  const std::string init = InitTroubleOf(pod);
  if (!init.empty()) {
    reason = init;
  } else {
    for (const Json& container : status["containerStatuses"].items()) {
      const std::string trouble = TroubleOf(container);
      if (!trouble.empty()) reason = trouble;
    }
  }
  // Set by the node lifecycle controller when a node is gone: whether the Pod ended is unknown.
  const bool lost = status["reason"].AsString() == "NodeLost";
  if (pod["metadata"].Has("deletionTimestamp")) return lost ? "Unknown" : "Terminating";
  return reason;
}

Json PodCell(const std::string& column, const Json& pod, WallTime now) {
  const Json::Array& statuses = pod["status"]["containerStatuses"].items();
  if (column == "Ready") {
    const auto ready = std::count_if(statuses.begin(), statuses.end(),
                                     [](const Json& s) { return s["ready"].AsBool(); });
    return fmt::format("{}/{}", ready, pod["spec"]["containers"].items().size());
  }
  if (column == "Status") return PodStatus(pod);
  if (column == "Restarts") {
    std::int64_t restarts = 0;
    std::string last;
    for (const Json& status : statuses) {
      restarts += status["restartCount"].AsInt();
      last = std::max(last, status["lastState"]["terminated"]["finishedAt"].AsString());
    }
    // RFC 3339 times of one zone compare as text.
    if (restarts == 0 || last.empty()) return std::to_string(restarts);
    return fmt::format("{} ({} ago)", restarts, AgeOf(Json(last), now));
  }
  if (column == "IP") return TextOr(pod["status"]["podIP"], kNone);
  if (column == "Node") return TextOr(pod["spec"]["nodeName"], kNone);
  if (column == "Nominated Node") return TextOr(pod["status"]["nominatedNodeName"], kNone);
  const Json::Array& gates = pod["spec"]["readinessGates"].items();
  if (gates.empty()) return kNone;
  const auto passed = std::count_if(gates.begin(), gates.end(), [&pod](const Json& gate) {
    const Json& condition = ConditionOf(pod, gate["conditionType"].AsString());
    return condition["status"].AsString() == "True";
  });
  return fmt::format("{}/{}", passed, gates.size());
}

std::string NodeStatus(const Json& node) {
  const Json& ready = ConditionOf(node, "Ready");
  std::string status = "Unknown";
  if (!ready.is_null()) status = ready["status"].AsString() == "True" ? "Ready" : "NotReady";
  return node["spec"]["unschedulable"].AsBool() ? status + ",SchedulingDisabled" : status;
}

std::string NodeRoles(const Json& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [label, value] : node["metadata"]["labels"].members()) {
    if (label.size() > kPrefix.size() && label.rfind(kPrefix, 0) == 0) {
      roles.push_back(label.substr(kPrefix.size()));
    }
  }
  return roles.empty() ? kNone : fmt::format("{}", fmt::join(roles, ","));
}

Json NodeCell(const std::string& column, const Json& node) {
  static const std::map<std::string, std::string, std::less<>> kInfo{
      {"Version", "kubeletVersion"},
      {"OS-Image", "osImage"},
      {"Kernel-Version", "kernelVersion"},
      {"Container-Runtime", "containerRuntimeVersion"}};
  if (column == "Status") return NodeStatus(node);
  if (column == "Roles") return NodeRoles(node);
  if (const auto it = kInfo.find(column); it != kInfo.end()) {
    const Json& value = node["status"]["nodeInfo"][it->second];
    return column == "Version" ? TextOr(value, "") : TextOr(value, "<unknown>");
  }
  const std::string type = column == "Internal-IP" ? "InternalIP" : "ExternalIP";
  for (const Json& address : node["status"]["addresses"].items()) {
    if (address["type"].AsString() == type) return address["address"];
  }
  return kNone;
}

std::string EventTime(const Json& event, const char* first, WallTime now) {
  // Events written by events.k8s.io have only eventTime.
  for (const char* field : {first, "eventTime", "firstTimestamp"}) {
    if (event[field].is_string()) return AgeOf(event[field], now);
  }
  return "<unknown>";
}

Json EventCell(const std::string& column, const Json& event, WallTime now) {
  const Json& object = event["involvedObject"];
  if (column == "Last Seen") return EventTime(event, "lastTimestamp", now);
  if (column == "First Seen") return EventTime(event, "firstTimestamp", now);
  if (column == "Object") {
    std::string kind = object["kind"].AsString();
    std::transform(kind.begin(), kind.end(), kind.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return kind + "/" + object["name"].AsString();
  }
  if (column == "Subobject") return TextOr(object["fieldPath"], "");
  if (column == "Count") return std::max<std::int64_t>(event["count"].AsInt(1), 1);
  const std::string component = event["source"]["component"].AsString().empty()
                                    ? event["reportingComponent"].AsString()
                                    : event["source"]["component"].AsString();
  const std::string& host = event["source"]["host"].AsString();
  return host.empty() ? component : component + ", " + host;
}

// The values of upstream's printer for ResourceClaims.
std::string ClaimState(const Json& claim) {
  if (claim["metadata"].Has("deletionTimestamp")) return "deleted";
  if (!claim["status"].Has("allocation")) return "pending";
  return claim["status"]["reservedFor"].items().empty() ? "allocated" : "allocated,reserved";
}

std::string SliceNode(const Json& slice) {
  const std::string& node = slice["spec"]["nodeName"].AsString();
  if (!node.empty()) return node;
  return slice["spec"]["allNodes"].AsBool() ? "<all>" : "<some>";
}

// The cell of a built-in kind's column that has no path, as kubectl's own printers (pkg/printers)
// would make it. `column` is one of kind.columns by name.
Json MadeCell(const Kind& kind, const std::string& column, const Json& object, WallTime now) {
  const std::string& name = kind.resource.kind;
  if (name == "Pod") return PodCell(column, object, now);
  if (name == "Node") return NodeCell(column, object);
  if (name == "Event") return EventCell(column, object, now);
  if (name == "ResourceClaim") return ClaimState(object);
  if (name == "ResourceSlice") return SliceNode(object);
  if (column == "Secrets") return object["secrets"].items().size();
  if (column == "Data")
    return object["data"].members().size() + object["binaryData"].members().size();
  if (column == "Min Available") return TextOr(object["spec"]["minAvailable"], "N/A");
  if (column == "Max Unavailable") return TextOr(object["spec"]["maxUnavailable"], "N/A");
  return object["status"]["disruptionsAllowed"].AsInt();
}

// A time is shown as an age; any other value as it is.
Json AgeCell(const Json& value, WallTime now) {
  const StatusOr<WallTime> then = ParseRfc3339(value.AsString());
  if (!then.ok()) return value.is_null() ? Json("<unknown>") : value;
  return FormatAge(now - *then);
}

Json PathCell(const Column& column, const Json& object, WallTime now) {
  const std::vector<Json> found = EvaluateJsonPath(column.path, object);
  if (column.type == "date") return AgeCell(found.empty() ? Json() : found.front(), now);
  if (found.empty()) return nullptr;
  const Json& value = found.front();
  const bool matches = (column.type == "integer" || column.type == "number") ? value.is_number()
                       : column.type == "boolean"                            ? value.is_bool()
                                                                             : value.is_string();
  // As upstream's printer: a value of another type is shown as empty, but a text column shows any
  // value as JSON.
  if (matches || column.type != "string") return matches ? value : Json();
  return value.Dump();
}

}  // namespace

Json TableColumns(const Kind& kind) {
  Json columns = Json(Json::Array());
  for (const Column& column : kind.columns) {
    // Built-in kinds send their ages as text; for custom kinds upstream sends the column's own
    // type.
    const bool age = column.type == "date" && !kind.custom;
    columns.Append(Json::MakeObject({{"name", column.name},
                                     {"type", age ? std::string("string") : column.type},
                                     {"format", column.format},
                                     {"description", column.description},
                                     {"priority", column.priority}}));
  }
  return columns;
}

Json TableCells(const Kind& kind, const Json& object, WallTime now) {
  Json cells = Json(Json::Array());
  for (const Column& column : kind.columns) {
    cells.Append(column.path.empty() ? MadeCell(kind, column.name, object, now)
                                     : PathCell(column, object, now));
  }
  return cells;
}

}  // namespace galen::api_sim
