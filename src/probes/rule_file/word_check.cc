#include <fmt/format.h>

#include <algorithm>

#include "probes/rule_file/rule_reader.h"
#include "probes/rules/sentence.h"

namespace galen::probes {
namespace {

bool IsCamelCase(std::string_view text) {
  // The code becomes the reason of a condition and of Events, where people read it in a column.
  constexpr std::size_t kCodeBytesMax = 64;
  return !text.empty() && text.size() <= kCodeBytesMax && text.front() >= 'A' &&
         text.front() <= 'Z' && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

bool Names(const Rule& rule, std::string_view placeholder) {
  return rule.sentence.find(placeholder) != std::string::npos;
}

}  // namespace

void CheckWords(const Rule& rule, RuleFaults& faults) {
  if (!rule.code.empty() && !IsCamelCase(rule.code)) {
    faults.Add("code", "is not a CamelCase noun like TemperatureHigh");
  }
  if (const Status status = CheckSentence(rule.sentence); !status.ok()) {
    faults.Add("sentence", status.message());
  }
  if (rule.sentence.find_first_not_of(' ') == std::string::npos && !faults.Unread("sentence")) {
    faults.Add("sentence", "is empty: it is what people read of the fault");
  }
  // So that a filled sentence is not cut before its numbers.
  if (rule.sentence.size() + rule.text.size() > kCauseMessageBytesMax - kSentenceBytesForValues) {
    faults.Add("sentence", fmt::format("and text together are past {} bytes",
                                       kCauseMessageBytesMax - kSentenceBytesForValues));
  }
  // People read sentences at night.
  if ((rule.sentence + rule.text).find('!') != std::string::npos) {
    faults.Add("sentence", "has an exclamation mark");
  }
  if (Names(rule, "{text}") && rule.text.empty() && !faults.Unread("text")) {
    faults.Add("sentence", "has {text}, but the rule has no `text`");
  }
  if (!rule.text.empty() && !Names(rule, "{text}") && !faults.Unread("sentence")) {
    faults.Add("text", "is shown nowhere: the sentence has no {text}");
  }
}

void CheckWordsOfState(const Rule& rule, RuleFaults& faults) {
  if (faults.Unread("state")) return;
  const bool healthy = rule.state == HealthState::kHealthy;
  if (healthy && rule.because.empty() && rule.clears.empty() && !faults.Unread("clears")) {
    faults.Add("because", "is missing: a rule that changes nothing says why");
  }
  if (!healthy && !rule.because.empty()) {
    faults.Add("because", "is for a Healthy rule: it says why that changes nothing");
  }
  if (rule.state == HealthState::kDegraded) return;
  if (rule.share != Rule().share) {
    faults.Add("share", "is for a Degraded device: it says what is left of it");
  }
  if (Names(rule, "{share}")) {
    faults.Add("sentence", "has {share}, but only a Degraded device has one");
  }
}

}  // namespace galen::probes
