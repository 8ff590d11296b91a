// Whether a node is among those that a selector of nodes means. Pure.
// Source of the rules: the NodeSelector type of the core/v1 API.
#pragma once

#include "base/data/json.h"

namespace galen::cluster_sim {

// `selector` is a core/v1 NodeSelector, `node` a v1 Node. One of its terms must match, and of a
// term every expression and field; no terms, an empty term and a null selector match nothing.
// Operators and fields (all but metadata.name) that this does not know match nothing.
bool MatchesNodeSelector(const Json& selector, const Json& node);

// `labels` as in a Pod's spec.nodeSelector: each must be on the node with that value. Null or
// empty: every node has them.
bool HasLabels(const Json& labels, const Json& node);

}  // namespace galen::cluster_sim
