// What a ResourceClaim object gave to one driver on one node. Pure; the seam between the API's JSON
// and what an author is handed.
#pragma once

#include <string>
#include <string_view>

#include "base/data/json.h"
#include "galen/driver.h"

namespace galen::sdk {

// A claim as the kubelet names it.
// All three come from the caller's request and are not checked here.
struct ClaimRef {
  std::string ns;
  std::string name;
  std::string uid;
};

// The part of `object`, a ResourceClaim as the API server gave it, that is `driver`'s: devices and
// opaque parameters. FailedPrecondition when the object is another one of the same name, is not
// allocated, or holds devices of another pool of ours; devices of other drivers are left out, so
// the answer may have none. Other errors are of an object that cannot be decoded.
StatusOr<DeviceClaim> ReadAllocation(const Json& object, const ClaimRef& claim,
                                     std::string_view driver, std::string_view pool);

// When it was allocated, as the API wrote it; "" where it does not say (before 1.34).
std::string AllocationTime(const Json& object);

}  // namespace galen::sdk
