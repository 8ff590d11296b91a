// Kubernetes objects for tests, as short as a test can read them. Each has a uid made of its
// namespace and name, so runs repeat. Values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "model/claim.h"

namespace galen::api_sim {

// One YAML document as JSON; flow style keeps literals on one line. REQUIRES: it is one.
Json Yaml(std::string_view text);

// A node that is Ready.
Json FakeNode(const std::string& name);

// A DeviceClass that selects by driver; "" selects every device.
Json FakeClass(const std::string& name, const std::string& driver);

// A slice that is its whole pool, generation 1, with devices of these names and nothing more; the
// pool is named like its node, and the slice "NODE-DRIVER".
Json FakeSlice(const std::string& driver, const std::string& node,
               const std::vector<std::string>& devices);

// A claim in namespace "default" with one request "gpu" for `count` devices of `device_class`.
Json FakeClaim(const std::string& name, const std::string& device_class, int count = 1);

// A template in namespace "default" that asks for the same.
Json FakeTemplate(const std::string& name, const std::string& device_class, int count = 1);

// A Pod in namespace "default" with one container "main".
Json FakePod(const std::string& name);
// `pod` with one more entry in spec.resourceClaims: a claim or a template of its namespace, by
// name.
Json WithClaim(Json pod, const std::string& pod_claim, const std::string& claim);
Json WithTemplate(Json pod, const std::string& pod_claim, const std::string& claim_template);

// Objects by their names, as an informer keeps them.
std::map<ObjectKey, Json> ByName(const std::vector<Json>& objects);

}  // namespace galen::api_sim
