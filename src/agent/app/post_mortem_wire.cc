// Tested by inspect_service_test.cc, through the service that sends it.
#include "agent/app/inspect_service.h"
#include "base/text.h"
#include "history/post_mortem/post_mortem_text.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::agent {
namespace {

namespace wire = galen::inspect::v1;

std::int64_t Nanos(const std::optional<WallTime>& time) {
  return time ? time->time_since_epoch().count() : 0;
}

void PutEnd(const ContainerEnd& end, wire::ContainerEnd& out) {
  out.set_container(end.container);
  if (end.exit_code) out.set_exit_code(*end.exit_code);
  if (end.signal) out.set_signal(*end.signal);
  out.set_reason(end.reason);
  out.set_message(end.message);
  out.set_started_unix_nanos(Nanos(end.started));
  out.set_finished_unix_nanos(Nanos(end.finished));
  out.set_restarts(end.restarts);
  out.set_init(end.init);
}

void PutFinding(const history::ReceivedFinding& finding, wire::Finding& out) {
  const DeviceHealth& health = finding.health;
  out.set_state(std::string(ToString(health.state)));
  out.set_share(health.share);
  out.mutable_cause()->set_code(health.cause.code);
  out.mutable_cause()->set_message(health.cause.message);
  out.mutable_cause()->set_value(health.cause.value);
  out.mutable_cause()->set_threshold(health.cause.threshold);
  out.mutable_cause()->set_unit(health.cause.unit);
  out.mutable_cause()->set_owner(std::string(ToString(health.cause.owner)));
  out.set_since_unix_nanos(Nanos(health.since));
  out.set_received_unix_nanos(Nanos(finding.received));
}

void PutDevice(const history::PostMortemDevice& device, wire::PostMortemDevice& out) {
  out.set_driver(device.identity.id.driver);
  out.set_pool(device.identity.id.pool);
  out.set_device(device.identity.id.device);
  out.set_serial(device.identity.serial);
  out.set_model(device.identity.model);
  out.set_claim(device.claim);
  out.set_admin(device.admin);
  for (const std::string& container : device.containers) out.add_containers(container);
  for (const history::ReceivedFinding& finding : device.findings) {
    PutFinding(finding, *out.add_findings());
  }
}

void PutEvidence(const Evidence& evidence, wire::Evidence& out) {
  out.set_rule(evidence.rule);
  out.set_supports(std::string(ToString(evidence.supports)));
  out.set_weight(evidence.weight);
  out.set_sentence(evidence.sentence);
}

void PutVerdict(const history::PostMortem& record, wire::Verdict& out) {
  const Verdict& verdict = record.verdict;
  out.set_kind(std::string(ToString(verdict.kind)));
  out.set_confidence(verdict.confidence);
  out.set_summary(Printable(history::VerdictText(record)));
  for (const Evidence& e : verdict.supporting) PutEvidence(e, *out.add_supporting());
  for (const Evidence& e : verdict.opposing) PutEvidence(e, *out.add_opposing());
}

}  // namespace

void PutPostMortem(const history::PostMortem& record, wire::PostMortem& out) {
  out.set_namespace_(record.pod.key.ns);
  out.set_pod(record.pod.key.name);
  out.set_uid(record.pod.uid);
  out.set_number(record.number);
  out.set_node(record.node);
  out.set_end(std::string(history::ToString(record.end)));
  out.set_reason(record.reason);
  out.set_over(record.over);
  out.set_exact(record.exact);
  out.set_first_unix_nanos(Nanos(record.first));
  out.set_began_unix_nanos(Nanos(record.began));
  out.set_asked_unix_nanos(Nanos(record.asked));
  out.set_ended_unix_nanos(Nanos(record.ended));
  for (const ContainerEnd& end : record.containers) PutEnd(end, *out.add_containers());
  for (const auto& device : record.devices) PutDevice(device, *out.add_devices());
  out.set_devices_left_out(record.devices_left_out);
  PutVerdict(record, *out.mutable_verdict());
}

}  // namespace galen::agent
