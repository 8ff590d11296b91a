// An allocator's explanation for people and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "alloc/explanation/explanation.h"
#include "alloc/what_if/relocation.h"
#include "base/data/json.h"
#include "cli/placement/pod_question.h"

namespace galen::cli {

// Lines: the verdict, the funnel of each request, what would make it fit, what to know besides.
std::string PlacementText(const PodQuestion& asked, const alloc::Explanation& explanation,
                          const alloc::Picture& picture);
// {"subject", "prospect", "message", "nodes", "allocations", "requests": [{"claim", "request",
// "class", "mode", "count", "ofClass", "toBeHad", "nodesAlone", "steps": [{"code", "devices",
// "detail"}]}], "wouldFitIf": [{"code", "text"}], "otherReleases", "warnings", "gaps", "notes"}.
Json PlacementJson(const PodQuestion& asked, const alloc::Explanation& explanation,
                   const alloc::Picture& picture);

// What changes would cost: lines for the claims that lose devices, with where they can go, and for
// those that could not start anew.
std::string RelocationText(const std::vector<alloc::Change>& changes,
                           const alloc::Relocation& relocation, const alloc::Picture& picture);
// {"changes", "verdict": "All" | "NotAll" | "CannotTell", "victims": [{"claim", "pods", "lost",
// "node", "found"}], "blocked", "gaps"}.
Json RelocationJson(const std::vector<alloc::Change>& changes, const alloc::Relocation& relocation,
                    const alloc::Picture& picture);

}  // namespace galen::cli
