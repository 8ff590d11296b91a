#include "model/plugin_resource.h"

#include <algorithm>

#include "base/text.h"

namespace galen {
namespace {

// Our own bounds. The longest resource that we know of has 40, the longest device, a time slice of
// a MIG device, 50.
constexpr std::size_t kResourceBytesMax = 63;
constexpr std::size_t kPluginDeviceBytesMax = 63;
// Bytes of a wrong name that a message shows: names come from outside.
constexpr std::size_t kNameShownBytesMax = 80;

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// As Kubernetes' qualified names have it (apimachinery, IsQualifiedName).
bool IsQualifiedPart(std::string_view text) {
  if (text.empty() || !IsLetterOrDigit(text.front()) || !IsLetterOrDigit(text.back())) return false;
  return std::ranges::all_of(
      text, [](char c) { return IsLetterOrDigit(c) || c == '-' || c == '_' || c == '.'; });
}

// A plugin names its devices as it likes.
bool IsPluginDevice(std::string_view text) {
  return !text.empty() && text.size() <= kPluginDeviceBytesMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

bool IsPluginResource(std::string_view driver) {
  return driver.find('/') != std::string_view::npos;
}

bool IsResourceName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.size() > kResourceBytesMax) return false;
  const std::string_view domain = text.substr(0, slash);
  if (domain.ends_with("kubernetes.io") || domain.starts_with("requests.")) return false;
  return IsDnsSubdomain(domain) && IsQualifiedPart(text.substr(slash + 1));
}

Status ValidatePluginDevice(const DeviceId& id) {
  if (!IsResourceName(id.driver)) {
    return InvalidArgument(
        "resource \"{}\" must be DOMAIN/NAME of at most {} characters, as example.com/gpu",
        Shown(id.driver, kNameShownBytesMax), kResourceBytesMax);
  }
  if (!IsPluginDevice(id.device)) {
    return InvalidArgument(
        "device id \"{}\" of resource {} must be 1 to {} printable characters without spaces",
        Shown(id.device, kNameShownBytesMax), id.driver, kPluginDeviceBytesMax);
  }
  return OkStatus();
}

}  // namespace galen
