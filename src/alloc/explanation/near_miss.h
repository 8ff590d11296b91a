// Single changes after which a Pod would get its devices, each tried on the picture. Pure.
#pragma once

#include <vector>

#include "alloc/explanation/explanation.h"
#include "alloc/explanation/trial.h"

namespace galen::alloc {

// For a question that does not fit as it is. In the order of how little they ask: a claim that
// ends, a taint that goes, a node that opens, fewer devices, a selector or a constraint less.
std::vector<NearMiss> FindNearMisses(Trial& trial, const Question& question);

// Whether some node would have it all if no claim held devices, no taint kept any away, and every
// node were ready and open.
bool FitsWhenAllIsFree(const Picture& picture, const Question& question, const Options& options);

}  // namespace galen::alloc
