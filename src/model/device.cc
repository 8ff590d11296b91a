#include "model/device.h"

#include "base/text.h"
#include "model/plugin_resource.h"

namespace galen {
namespace {

// The API server's own limits on spec.driver and spec.pool.name of a ResourceSlice
// (resource.k8s.io/v1).
constexpr std::size_t kDriverBytesMax = 63;
constexpr std::size_t kPoolBytesMax = 253;
// Bytes of a wrong name that a message shows: names come from outside.
constexpr std::size_t kShownBytesMax = 80;

// Every part between slashes must be a name: "a//b", "/a" and "a/" are refused.
bool IsPool(std::string_view pool) {
  if (pool.size() > kPoolBytesMax) return false;
  for (std::size_t slash = pool.find('/'); slash != std::string_view::npos;
       slash = pool.find('/')) {
    if (!IsDnsSubdomain(pool.substr(0, slash))) return false;
    pool.remove_prefix(slash + 1);
  }
  return IsDnsSubdomain(pool);
}

}  // namespace

std::string ToString(const DeviceId& id) {
  return fmt::format("{}/{}/{}", id.driver, id.pool, id.device);
}

Status Validate(const DeviceId& id) {
  const bool plugin = IsPluginResource(id.driver);
  if (plugin) RETURN_IF_ERROR(ValidatePluginDevice(id));
  if (!plugin && (id.driver.size() > kDriverBytesMax || !IsDnsSubdomain(id.driver))) {
    return InvalidArgument(
        "driver name \"{}\" must be a DNS subdomain of at most {} characters, as gpu.example.com",
        Shown(id.driver, kShownBytesMax), kDriverBytesMax);
  }
  if (!IsPool(id.pool)) {
    return InvalidArgument(
        "pool name \"{}\" must be DNS subdomains joined by \"/\", at most {} characters",
        Shown(id.pool, kShownBytesMax), kPoolBytesMax);
  }
  // A DNS label has at most 63 bytes.
  if (!plugin && !IsDnsLabel(id.device)) {
    return InvalidArgument(
        "device name \"{}\" must be 1 to 63 lower-case letters, digits or \"-\", as gpu-0",
        Shown(id.device, kShownBytesMax));
  }
  return OkStatus();
}

}  // namespace galen
