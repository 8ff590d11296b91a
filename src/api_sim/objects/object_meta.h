// An object's metadata: what clients may set, and what only the API sets. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "api_sim/objects/kinds.h"
#include "base/data/json.h"
#include "base/random.h"
#include "base/time.h"
#include "model/claim.h"

namespace galen::api_sim {

// metadata.namespace ("" for cluster-scoped objects) and metadata.name.
ObjectKey KeyOf(const Json& object);
// metadata.resourceVersion as a number; 0 when there is none.
std::uint64_t ResourceVersionOf(const Json& object);

// Faults of name (a DNS label for namespaces, a subdomain for the rest), labels, annotations and
// their size, finalizers and owner references.
Faults CheckMeta(const Kind& kind, const Json& object);

// Sets a new object's uid, creationTimestamp and generation, and a name from generateName if it has
// none; drops fields that a client may not set. Repeating makes another uid and, once the name is
// "", another name.
void StampNew(const Kind& kind, Json& object, Random& random, WallTime now);

// Copies uid, times, generation and the like from `before` to `after`, whatever a client sent: such
// fields are not refused but ignored, as upstream does.
void KeepSystemMeta(const Json& before, Json& after);

// Counts metadata.generation up by one when anything but metadata (and, where status is written on
// its own, status) differs; only for kinds that count.
void CountGeneration(const Kind& kind, const Json& before, Json& after);

// Equal except for resourceVersion and managedFields: writing it would change nothing.
bool IsSameObject(const Json& a, const Json& b);

// TotalAnnotationSizeLimitB of k8s.io/apimachinery: keys and values together, 422 beyond it.
inline constexpr std::size_t kAnnotationsBytesMax = 256 * 1024;  // as kube-apiserver has it
// What generateName appends, and what is kept of it (k8s.io/apiserver's names package).
inline constexpr int kNameSuffixLength = 5;
inline constexpr std::size_t kGeneratedBaseBytesMax = 58;  // 63 less the suffix

}  // namespace galen::api_sim
