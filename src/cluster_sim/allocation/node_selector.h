// Whether a node selector matches a node. Pure.
// Source of the rules: the NodeSelector type of the core/v1 API.
#pragma once

#include "base/data/json.h"

namespace galen::cluster_sim {

// `selector` is a core/v1 NodeSelector, `node` a v1 Node. One of its terms must match, with all its
// expressions and fields. No terms, an empty term or a null selector match nothing; nor do unknown
// operators, or fields other than metadata.name.
bool MatchesNodeSelector(const Json& selector, const Json& node);

// `labels` as in a Pod's spec.nodeSelector: each must be on the node with that value. Null or
// empty: every node has them.
bool HasLabels(const Json& labels, const Json& node);

}  // namespace galen::cluster_sim
