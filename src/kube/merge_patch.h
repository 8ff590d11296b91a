// Merge patches (RFC 7386): how one changes an object, and how one is made from two versions. Pure
// functions over values.
#pragma once

#include "base/data/json.h"
#include "base/status.h"

namespace galen::kube {

// Members replace, null removes, lists are replaced whole. Only objects are taken, as by
// Kubernetes (InvalidArgument otherwise; `object` is then what it was); `object` itself need not be
// one.
Status ApplyMergePatch(Json& object, const Json& patch);

// The merge patch that makes `after` of `before`; an empty object when nothing differs. A null
// member counts as absent, as everywhere in Kubernetes. Lists that differ are written whole.
Json CreateMergePatch(const Json& before, const Json& after);

}  // namespace galen::kube
