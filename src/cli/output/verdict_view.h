// The verdict on a crash as the agent returns it, for people and for programs. Pure.
#pragma once

#include <optional>

#include "base/data/json.h"
#include "model/verdict.h"

namespace galen::inspect::v1 {
class ExplainResponse;
class Verdict;
}  // namespace galen::inspect::v1

namespace galen::cli {

// The verdict of the newest record of the Pod that is asked for; if it is gone, of the last Pod of
// that name. nullopt: it neither crashed nor ended, or it ended well.
std::optional<Verdict> VerdictOf(const inspect::v1::ExplainResponse& answer);

// Decodes the agent's message.
Verdict FromProto(const inspect::v1::Verdict& verdict);

// "kind", "confidence", "summary", and "supporting" and "opposing" with "rule", "supports",
// "weight" and "sentence" of each.
Json ToJson(const Verdict& verdict);

}  // namespace galen::cli
