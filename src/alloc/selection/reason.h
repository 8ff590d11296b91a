// Why a device was not taken for a request: the first test that it failed, in the order in which
// Kubernetes makes them.
#pragma once

#include <cstdint>
#include <string_view>

namespace galen::alloc {

enum class Reason : std::uint8_t {
  kNone,               // it was taken at some time, or never tried
  kInUse,              // a claim holds it
  kTakenBefore,        // for another request of this Pod
  kBindingConditions,  // it has some, and the gate is off
  kClassSelector,
  kRequestSelector,
  kOtherNode,        // it is for other nodes
  kCapacityMissing,  // it has no capacity of that name
  kCapacityPolicy,   // its policy gives no such share
  kCapacityTaken,    // too little is left, or it never had enough
  kNodeOperations,   // the node lacks a feature that it needs
  kCounters,         // other partitions hold what it needs
  kCompatibility,    // a partition of its device is in use that it cannot stand beside
  kTaint,
  kConstraint,
};

// For people, behind a number of devices: "in use", "tainted".
std::string_view ToString(Reason reason);

}  // namespace galen::alloc
