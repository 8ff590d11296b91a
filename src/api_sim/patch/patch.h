// The ways in which a server changes an object by a patch, beside merge patches
// (kube/merge_patch.h) and server-side apply (managed_fields.h). Pure functions over values.
//
// InvalidArgument: the patch itself is wrong (a server answers 400). FailedPrecondition: it is well
// formed and does not fit this object, e.g. a failed "test" (422). Unimplemented: the kind takes no
// such patch (415). After an error `object` is unchanged.
#pragma once

#include <cstddef>

#include "base/data/json.h"
#include "base/status.h"
#include "kube/resource.h"

namespace galen::api_sim {

// RFC 6902: a list of add, remove, replace, move, copy and test, applied in order, all or none.
Status ApplyJsonPatch(Json& object, const Json& patch);

// Kubernetes' own (its sig-api-machinery/strategic-merge-patch.md): lists of the built-in kinds
// merge by their keys; understands $patch, $retainKeys, $deleteFromPrimitiveList and
// $setElementOrder. Custom kinds are refused, as by a server.
Status ApplyStrategicPatch(const kube::Resource& resource, Json& object, const Json& patch);

// Limits of JSON patches: kube-apiserver's own for operations; copies may not grow an object beyond
// twice what etcd takes. Also the limit of each list in a strategic patch.
inline constexpr std::size_t kJsonPatchOperationsMax = 10'000;
inline constexpr std::size_t kJsonPatchCopiedBytesMax = 3 * 1024 * 1024;
inline constexpr std::size_t kMergeListItemsMax = 4096;

}  // namespace galen::api_sim
