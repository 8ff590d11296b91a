#include "alloc/explanation/explanation.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "alloc/explanation/funnel.h"
#include "alloc/explanation/near_miss.h"
#include "alloc/explanation/trial.h"

namespace galen::alloc {
namespace {

std::vector<Allocation> ExampleOn(const Node& node, Trial& trial, const Question& question) {
  const Demand demand =
      PrepareDemand(question.claims, trial.picture().classes, trial.inventory(), trial.memo());
  return Allocator(trial.inventory(), trial.usage(), demand, trial.memo())
      .Allocate(node)
      .allocations;
}

std::string OutcomeText(const Trial::Result& result) {
  if (result.error) return "ends its attempt with an error: " + result.message;
  if (result.unsure) return "cannot be foreseen: " + result.message;
  return result.nodes.empty() ? "finds no node"
                              : fmt::format("finds {} node{}", result.nodes.size(),
                                            result.nodes.size() == 1 ? "" : "s");
}

// Releases whose allocator has another verdict, or other nodes.
std::vector<OtherRelease> FindOtherReleases(const Picture& picture, const Question& question,
                                            const Options& options, const Trial::Result& here) {
  std::vector<OtherRelease> others;
  for (int minor = kOldestMinor; minor <= kNewestMinor; ++minor) {
    if (minor == options.minor) continue;
    Options other = options;
    other.minor = minor;
    other.features = StockFeatures(minor);
    Trial trial(picture, other);
    const Trial::Result result = trial.Fit(question.reach, question.claims, false);
    if (result.nodes == here.nodes && result.error == here.error) continue;
    others.push_back({.minor = minor, .text = OutcomeText(result)});
  }
  return others;
}

void AddFunnels(Trial& trial, const Question& question, Explanation& explanation) {
  for (const ResourceClaim& claim : question.claims) {
    for (std::size_t request = 0; request < claim.requests.size(); ++request) {
      for (std::size_t wish = 0; wish < claim.requests[request].wishes.size(); ++wish) {
        explanation.requests.push_back(FunnelOf(trial, question.reach, claim, request, wish));
      }
    }
  }
}

// Selectors that cannot be evaluated on some device: whether kube-scheduler comes to it, and ends
// its attempt, changes as devices come and go.
std::vector<std::string> FindWarnings(Trial& trial, const Question& question) {
  std::vector<std::string> warnings;
  const Demand demand =
      PrepareDemand(question.claims, trial.picture().classes, trial.inventory(), trial.memo());
  std::set<std::uint32_t> seen;
  for (const Slot& slot : demand.slots) {
    for (std::size_t i = 0; i < slot.selectors.size(); ++i) {
      const std::uint32_t selector = slot.selectors[i];
      if (!seen.insert(selector).second) continue;
      std::size_t failing = 0;
      std::string error;
      for (std::uint32_t entry = 0; entry < trial.inventory().entries().size(); ++entry) {
        if (i > 0 && trial.memo().Ask(slot.selectors[i - 1], entry) != SelectorMemo::Verdict::kTrue)
          continue;
        if (trial.memo().Ask(selector, entry) != SelectorMemo::Verdict::kError) continue;
        if (failing++ == 0) error = trial.memo().ErrorOf(selector, entry);
      }
      if (failing == 0) continue;
      warnings.push_back(fmt::format("a selector of {} cannot be evaluated on {} devices: {}",
                                     slot.name, failing, error));
    }
  }
  // What was not evaluated for want of work counts as an error there.
  if (trial.memo().exhausted()) warnings.clear();
  return warnings;
}

// A pool in the middle of an update may be about to have what is missing.
std::string UncertaintyOf(const Picture& picture, const Trial::Result& result,
                          const std::vector<RequestFunnel>& requests) {
  if (!picture.gaps.empty()) return picture.gaps.front();
  if (result.unsure) return result.message;
  for (const RequestFunnel& request : requests) {
    for (const FunnelStep& step : request.steps) {
      if (step.code == "PoolIncomplete") {
        return fmt::format("{} devices of class {} are in pools that are incomplete or invalid",
                           step.devices, request.class_name);
      }
    }
  }
  return "";
}

}  // namespace

std::string_view ToString(Prospect prospect) {
  switch (prospect) {
    case Prospect::kNow:
      return "Now";
    case Prospect::kLater:
      return "Later";
    case Prospect::kNever:
      return "Never";
    case Prospect::kRefused:
      return "Refused";
    case Prospect::kCannotTell:
      return "CannotTell";
  }
  return "";
}

Explanation Explain(const Picture& picture, const Question& question, const Options& options) {
  Explanation explanation;
  Trial trial(picture, options);
  const Trial::Result result = trial.Fit(question.reach, question.claims, false);
  explanation.warnings = FindWarnings(trial, question);
  if (options.minor < kFixedOrderMinor && (result.error || !result.nodes.empty())) {
    explanation.warnings.push_back(fmt::format(
        "kube-scheduler 1.{} goes through pools in no fixed order: it may take other devices that "
        "suit, and come to one with an error or not",
        options.minor));
  }
  explanation.other_releases = FindOtherReleases(picture, question, options, result);
  if (result.error) {
    explanation.prospect = Prospect::kRefused;
    explanation.message = result.message;
    return explanation;
  }
  for (const std::size_t node : result.nodes) {
    explanation.nodes.push_back(picture.nodes[node].node.name);
  }
  if (!result.nodes.empty() && picture.gaps.empty()) {
    explanation.prospect = Prospect::kNow;
    explanation.example = ExampleOn(picture.nodes[result.nodes.front()].node, trial, question);
    return explanation;
  }
  AddFunnels(trial, question, explanation);
  explanation.near_misses = FindNearMisses(trial, question);
  explanation.message = UncertaintyOf(picture, result, explanation.requests);
  if (!explanation.message.empty()) return explanation;
  explanation.prospect =
      FitsWhenAllIsFree(picture, question, options) ? Prospect::kLater : Prospect::kNever;
  return explanation;
}

}  // namespace galen::alloc
