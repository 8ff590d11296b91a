// The metadata that every Kubernetes object carries, as far as we read it. Values and pure
// functions; what is not named here is neither read nor kept, so these values are for reading and
// for objects of our own, never for writing somebody else's object back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/time.h"
#include "model/claim.h"

namespace galen::kube {

// Who owns an object; with the owner the object goes.
struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool controller = false;
  bool operator==(const OwnerReference&) const = default;
};

struct Meta {
  ObjectKey key;
  // Distinguishes this object from another of the same name, before or after it.
  std::string uid;
  std::optional<WallTime> created;
  std::optional<WallTime> deleted;  // deletionTimestamp: asked to go, maybe still there
  // In the object's order; empty: it has no owner.
  std::vector<OwnerReference> owners;
  bool operator==(const Meta&) const = default;
};

// InvalidArgument when name or uid is missing or metadata is not an object.
StatusOr<Meta> DecodeMeta(const Json& object);

// metav1.Time or MicroTime; nullopt when it is absent or no time.
std::optional<WallTime> DecodeTime(const Json& value);

// For metadata.ownerReferences.
Json EncodeOwners(const std::vector<OwnerReference>& owners);

}  // namespace galen::kube
