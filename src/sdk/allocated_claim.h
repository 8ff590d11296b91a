// What a ResourceClaim object gave to one driver on one node. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "galen/driver.h"

namespace galen::sdk {

// A claim as the kubelet names it.
struct ClaimRef {
  std::string ns;
  std::string name;
  std::string uid;
};

// FailedPrecondition when the object is another one of the same name, is not allocated, or holds
// devices of another pool of ours; devices of other drivers are left out.
StatusOr<DeviceClaim> ReadAllocation(const Json& object, const ClaimRef& claim,
                                     std::string_view driver, std::string_view pool);

}  // namespace galen::sdk
