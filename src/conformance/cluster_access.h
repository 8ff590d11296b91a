// An examination's access to the API server: a driver's ResourceSlices, and claims of its own that
// it makes, allocates as a scheduler would, and removes. Belongs to its loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/link.h"
#include "kube/resource.h"

namespace galen::conformance {

class ClusterAccess {
 public:
  // `edges` is borrowed; its api is not nullptr. Claims are made in `ns`.
  ClusterAccess(const Edges& edges, std::string driver, std::string ns);

  // All objects of a kind, page by page.
  StatusOr<std::vector<Json>> List(const kube::Resource& resource, const std::string& field);
  // The driver's slices, of all nodes.
  StatusOr<std::vector<Json>> Slices();

  // A claim with one request; allocated when `allocation` is given.
  StatusOr<ClaimRef> MakeClaim(const std::optional<TestAllocation>& allocation);
  // OK when it is gone already. Claims that are left are removed by PutAway.
  Status RemoveClaim(const ClaimRef& claim);
  Status PutAway();

  // Longer than the client's own deadline.
  static constexpr Duration kLimit = std::chrono::seconds(35);

 private:
  StatusOr<Json> Ask(net::HttpRequest request);

  const Edges& edges_;
  const std::string driver_;
  const std::string ns_;
  std::vector<ClaimRef> made_;
};

// The node whose driver this is: the only one in slices of pools that the health reports name, or
// in all slices. "" when there are several or none.
std::string NodeOf(const std::vector<Json>& slices, const HealthSeen& health);

// A device of the driver on `node` without taints that no claim holds; NotFound says what is
// missing.
StatusOr<TestAllocation> FindFreeDevice(const std::vector<Json>& slices,
                                        const std::vector<Json>& claims, const std::string& driver,
                                        const std::string& node);

}  // namespace galen::conformance
