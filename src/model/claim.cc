#include "model/claim.h"

namespace galen {

std::string ToString(const ObjectKey& key) {
  return key.ns.empty() ? key.name : fmt::format("{}/{}", key.ns, key.name);
}

// A name has no "/" of its own, being a DNS label, so the first one begins the sub-request.
std::string_view BaseRequest(std::string_view request) {
  return request.substr(0, request.find('/'));
}

}  // namespace galen
