// An object's metadata: what clients may say, and what only the API says. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/random.h"
#include "base/time.h"
#include "cluster_sim/kinds.h"
#include "model/claim.h"

namespace galen::cluster_sim {

ObjectKey KeyOf(const Json& object);
// metadata.resourceVersion as a number; 0 when there is none.
std::uint64_t ResourceVersionOf(const Json& object);

// Name (of the kind's form), generateName, labels, annotations, finalizers, owner references.
Faults CheckMeta(const Kind& kind, const Json& object);

// A new object's uid, creationTimestamp and generation; forgets what a client may not set.
void StampNew(const Kind& kind, Json& object, Random& random, WallTime now);

// Puts uid, times, generation and the like of `before` into `after`, whatever a client sent.
void KeepSystemMeta(const Json& before, Json& after);

// Counts the generation up when anything but metadata and status differs.
void CountGeneration(const Kind& kind, const Json& before, Json& after);

// Equal but for resourceVersion and managedFields: writing it would change nothing.
bool IsSameObject(const Json& a, const Json& b);

inline constexpr std::size_t kAnnotationsBytesMax = 256 * 1024;  // as kube-apiserver has it
inline constexpr int kNameSuffixLength = 5;
inline constexpr std::size_t kGeneratedBaseBytesMax = 58;  // 63 less the suffix

}  // namespace galen::cluster_sim
