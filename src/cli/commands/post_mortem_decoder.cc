// Tested by post_mortem_test.cc. Decodes records from the agent and the API server.
#include "cli/commands/post_mortem.h"
#include "cli/inspect/inspect_values.h"
#include "cli/output/verdict_view.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;

std::optional<WallTime> FromNanosOrNone(std::int64_t nanos) {
  return nanos == 0 ? std::nullopt : std::optional(FromNanos(nanos));
}

ContainerEnd EndFromProto(const wire::ContainerEnd& end) {
  ContainerEnd out{.container = end.container(),
                   .exit_code = {},
                   .signal = {},
                   .reason = end.reason(),
                   .message = end.message(),
                   .started = FromNanosOrNone(end.started_unix_nanos()),
                   .finished = FromNanosOrNone(end.finished_unix_nanos()),
                   .restarts = end.restarts(),
                   .init = end.init()};
  if (end.has_exit_code()) out.exit_code = end.exit_code();
  if (end.has_signal()) out.signal = end.signal();
  return out;
}

history::ReceivedFinding FindingFromProto(const wire::Finding& finding, const DeviceId& id) {
  history::ReceivedFinding out;
  out.health.id = id;
  // An unknown state of a later version counts as Unknown.
  out.health.state = ParseHealthState(finding.state()).value_or(HealthState::kUnknown);
  out.health.share = finding.share();
  out.health.cause = FromProto(finding.cause());
  out.health.since = FromNanos(finding.since_unix_nanos());
  out.received = FromNanos(finding.received_unix_nanos());
  return out;
}

history::PostMortemDevice DeviceFromProto(const wire::PostMortemDevice& device) {
  history::PostMortemDevice out;
  out.identity = {
      {device.driver(), device.pool(), device.device()}, device.serial(), device.model()};
  out.claim = device.claim();
  out.admin = device.admin();
  out.containers.assign(device.containers().begin(), device.containers().end());
  for (const wire::Finding& finding : device.findings()) {
    out.findings.push_back(FindingFromProto(finding, out.identity.id));
  }
  return out;
}

}  // namespace

history::PostMortem FromProto(const wire::PostMortem& record) {
  history::PostMortem out;
  out.pod = {{record.namespace_(), record.pod()}, record.uid()};
  out.number = record.number();
  out.node = record.node();
  out.end = history::ParsePodEnd(record.end()).value_or(history::PodEnd::kGone);
  out.reason = record.reason();
  out.over = record.over();
  out.exact = record.exact();
  out.first = FromNanos(record.first_unix_nanos());
  out.ended = FromNanos(record.ended_unix_nanos());
  out.began = FromNanosOrNone(record.began_unix_nanos());
  out.asked = FromNanosOrNone(record.asked_unix_nanos());
  for (const auto& end : record.containers()) out.containers.push_back(EndFromProto(end));
  for (const auto& device : record.devices()) out.devices.push_back(DeviceFromProto(device));
  out.devices_left_out = record.devices_left_out();
  out.verdict = FromProto(record.verdict());
  return out;
}

ShownPostMortem FromNode(const kube::NodeDeviceHealth& node, const kube::NodePostMortem& entry) {
  history::PostMortem out;
  out.pod = entry.pod;
  out.number = entry.number;
  out.node = node.node;
  out.end = history::ParsePodEnd(entry.end).value_or(history::PodEnd::kGone);
  out.over = out.end != history::PodEnd::kCrashed && out.end != history::PodEnd::kNodeReboot;
  out.first = out.ended = entry.ended;
  if (!entry.container.empty()) {
    ContainerEnd& end = out.containers.emplace_back();
    end.container = entry.container;
    end.exit_code = entry.exit_code;
  }
  history::PostMortemDevice& device = out.devices.emplace_back();
  device.identity.id = entry.device;
  history::ReceivedFinding& finding = device.findings.emplace_back();
  finding.health.id = entry.device;
  finding.health.state = entry.state;
  finding.health.cause.code = entry.code;
  finding.health.cause.message = entry.message;
  out.verdict.kind = ParseVerdictKind(entry.verdict);
  out.verdict.confidence = entry.confidence;
  if (entry.summary.empty()) return ToShown(std::move(out));
  return {.record = std::move(out), .summary = entry.summary};
}

}  // namespace galen::cli
