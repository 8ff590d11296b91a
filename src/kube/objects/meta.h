// What every Kubernetes object carries, as far as we read it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/claim.h"

namespace galen::kube {

struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool controller = false;
  bool operator==(const OwnerReference&) const = default;
};

struct Meta {
  ObjectKey key;
  std::string uid;
  std::optional<WallTime> created;
  std::optional<WallTime> deleted;  // deletionTimestamp: asked to go, maybe still there
  std::vector<OwnerReference> owners;
  bool operator==(const Meta&) const = default;
};

// InvalidArgument when name or uid is missing or metadata is no object.
StatusOr<Meta> DecodeMeta(const Json& object);

// metav1.Time or MicroTime; nullopt when it is absent or no time.
std::optional<WallTime> DecodeTime(const Json& value);

Json EncodeOwners(const std::vector<OwnerReference>& owners);

}  // namespace galen::kube
