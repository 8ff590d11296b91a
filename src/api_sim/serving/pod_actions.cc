// Tested by tests/contract/delete_test.cc.
#include <fmt/format.h>

#include <algorithm>

#include "api_sim/objects/pod_facts.h"
#include "api_sim/objects/selectors.h"
#include "api_sim/serving/resource_api.h"

namespace galen::api_sim {
namespace {

Json Success() {
  return Json::MakeObject({{"kind", "Status"},
                           {"apiVersion", "v1"},
                           {"metadata", Json::Object{}},
                           {"status", "Success"},
                           {"code", 201}});
}

// Sets the condition of that type, keeping the others and their order.
void PutCondition(Json& pod, const Json& condition) {
  Json& conditions = pod["status"]["conditions"];
  for (Json& present : conditions.MutableItems()) {
    if (present["type"] != condition["type"]) continue;
    present = condition;
    return;
  }
  conditions.Append(condition);
}

// An absent selector matches nothing and an empty one everything, as policy/v1 has it.
bool LabelsMatch(const Json& selector, const Json& pod) {
  if (selector.is_null()) return false;
  const Json& labels = pod["metadata"]["labels"];
  for (const auto& [key, value] : selector["matchLabels"].members()) {
    if (labels[key] != value) return false;
  }
  for (const Json& expression : selector["matchExpressions"].items()) {
    using Operator = Requirement::Operator;
    const std::string& op = expression["operator"].AsString();
    Requirement requirement{expression["key"].AsString(),
                            op == "In"             ? Operator::kIn
                            : op == "NotIn"        ? Operator::kNotIn
                            : op == "DoesNotExist" ? Operator::kAbsent
                                                   : Operator::kExists,
                            {}};
    for (const Json& value : expression["values"].items()) {
      requirement.values.push_back(value.AsString());
    }
    const Json* own = labels.Find(requirement.key);
    if (!requirement.Holds(own == nullptr ? nullptr : &own->AsString())) return false;
  }
  return true;
}

// A Pod that does not serve yet, or no longer, needs no budget (kube-apiserver's eviction.go).
bool NeedsNoBudget(const Json& pod) {
  return pod["status"]["phase"].AsString() == "Pending" || HasPodEnded(pod) ||
         pod["metadata"].Has("deletionTimestamp");
}

Json DisruptionTarget(WallTime now) {
  return Json::MakeObject({{"type", "DisruptionTarget"},
                           {"status", "True"},
                           {"reason", "EvictionByEvictionAPI"},
                           {"message", "Eviction API: evicting"},
                           {"lastTransitionTime", FormatRfc3339(now)}});
}

}  // namespace

Outcome<Written> PodActions::Bind(const WriteTarget& target, const Json& binding) {
  const std::string& node = binding["target"]["name"].AsString();
  const Subject subject = target.kind->subject(target.key.name);
  if (node.empty()) return InvalidRefusal(subject, {RequiredFault("target.name")});
  const Snapshot pod = store_.Get(target.kind->collection(), target.key);
  if (pod == nullptr) return NotFoundRefusal(subject);
  const std::string& present = (*pod)["spec"]["nodeName"].AsString();
  if (!present.empty()) {
    return ConflictRefusal(subject, fmt::format("pod {} is already assigned to node \"{}\"",
                                                target.key.name, present));
  }
  if ((*pod)["metadata"].Has("deletionTimestamp")) {
    return ConflictRefusal(subject, fmt::format("pod {} is being deleted, cannot be assigned to a "
                                                "host",
                                                target.key.name));
  }
  Json bound = *pod;
  bound["spec"]["nodeName"] = node;
  PutCondition(bound, Json::MakeObject({{"type", "PodScheduled"},
                                        {"status", "True"},
                                        {"lastProbeTime", nullptr},
                                        {"lastTransitionTime", FormatRfc3339(loop_.WallNow())}}));
  // The writer lets only this subresource write spec and status at once.
  WriteTarget both = target;
  both.subresource = "binding";
  ASSIGN_OR_RETURN(const Written written, writer_.Update(both, std::move(bound)));
  return Written{201, Success(), written.warnings};
}

Outcome<Written> PodActions::Evict(const WriteTarget& target, const Json& eviction) {
  const Subject subject = target.kind->subject(target.key.name);
  const Snapshot pod = store_.Get(target.kind->collection(), target.key);
  if (pod == nullptr) return NotFoundRefusal(subject);
  ASSIGN_OR_RETURN(DeletionWish wish,
                   ReadDeletionWish(eviction["deleteOptions"], "", target.dry_run));
  if (auto refusal = CheckBudgets(target.key, *pod)) return *refusal;
  // Tried first: a Pod that fails the preconditions must not get the condition.
  DeletionWish trial = wish;
  trial.dry_run = true;
  if (auto tried = deleter_.Delete(*target.kind, target.key, trial); !tried.ok()) {
    return tried.status();
  }
  if (!wish.dry_run) {
    Json marked = *pod;
    PutCondition(marked, DisruptionTarget(loop_.WallNow()));
    WriteTarget status = target;
    status.subresource = "status";
    ASSIGN_OR_RETURN(const Written marked_pod, writer_.Update(status, std::move(marked)));
    // Setting the condition gives the Pod a new version: a precondition on the old one would now
    // refuse the deletion.
    if (!wish.resource_version.empty()) {
      wish.resource_version = marked_pod.object["metadata"]["resourceVersion"].AsString();
    }
  }
  const auto deleted = deleter_.Delete(*target.kind, target.key, wish);
  if (!deleted.ok()) return deleted.status();
  return Written{201, Success(), {}};
}

std::optional<Refusal> PodActions::CheckBudgets(const ObjectKey& key, const Json& pod) const {
  if (NeedsNoBudget(pod)) return std::nullopt;
  for (const Snapshot& budget : store_.List("policy/poddisruptionbudgets", key.ns)) {
    if (!LabelsMatch((*budget)["spec"]["selector"], pod)) continue;
    if ((*budget)["status"]["disruptionsAllowed"].AsInt() > 0) continue;
    Refusal refusal = PlainRefusal(429, "TooManyRequests",
                                   "Cannot evict pod as it would violate the pod's disruption "
                                   "budget.");
    const std::string message = fmt::format(
        "The disruption budget {} needs {} healthy pods and has {} currently",
        (*budget)["metadata"]["name"].AsString(), (*budget)["status"]["desiredHealthy"].AsInt(),
        (*budget)["status"]["currentHealthy"].AsInt());
    refusal.details = Json::MakeObject(
        {{"causes", Json::MakeArray({Json::MakeObject(
                        {{"reason", "DisruptionBudget"}, {"message", message}})})}});
    return refusal;
  }
  return std::nullopt;
}

}  // namespace galen::api_sim
