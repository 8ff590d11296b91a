#include "cli/output/verdict_view.h"

#include <utility>

#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

std::vector<Evidence> EvidenceOf(
    const google::protobuf::RepeatedPtrField<inspect::v1::Evidence>& list) {
  std::vector<Evidence> all;
  for (const inspect::v1::Evidence& one : list) {
    all.push_back({.rule = one.rule(),
                   .supports = ParseVerdictKind(one.supports()),
                   .weight = one.weight(),
                   .sentence = one.sentence()});
  }
  return all;
}

Json::Array ToJson(const std::vector<Evidence>& evidence) {
  Json::Array items;
  for (const Evidence& one : evidence) {
    items.push_back(Json::MakeObject({{"rule", one.rule},
                                      {"supports", ToString(one.supports)},
                                      {"weight", one.weight},
                                      {"sentence", one.sentence}}));
  }
  return items;
}

// A Pod that ended well, or was deleted without a crash, has no fault to be judged.
bool IsJudged(const inspect::v1::PostMortem& record) {
  const inspect::v1::Verdict& verdict = record.verdict();
  const bool evidence = verdict.supporting_size() + verdict.opposing_size() > 0;
  return record.has_verdict() &&
         (evidence || record.end() == "Crashed" || record.end() == "Failed");
}

}  // namespace

Verdict FromProto(const inspect::v1::Verdict& verdict) {
  return {.kind = ParseVerdictKind(verdict.kind()),
          .confidence = verdict.confidence(),
          .supporting = EvidenceOf(verdict.supporting()),
          .opposing = EvidenceOf(verdict.opposing())};
}

std::optional<Verdict> VerdictOf(const inspect::v1::ExplainResponse& answer) {
  for (const inspect::v1::PostMortem& record : answer.post_mortems()) {
    // Records of an earlier Pod of the same name do not count.
    if (!answer.pod_uid().empty() && record.uid() != answer.pod_uid()) continue;
    if (!IsJudged(record)) return std::nullopt;
    return FromProto(record.verdict());
  }
  return std::nullopt;
}

Json ToJson(const Verdict& verdict) {
  return Json::MakeObject({{"kind", ToString(verdict.kind)},
                           {"confidence", verdict.confidence},
                           {"summary", Summary(verdict)},
                           {"supporting", ToJson(verdict.supporting)},
                           {"opposing", ToJson(verdict.opposing)}});
}

}  // namespace galen::cli
