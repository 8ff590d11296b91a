// What a ResourceSlice says of one device as far as selectors and constraints read it. Values.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "alloc/quantity.h"
#include "alloc/semantic_version.h"

namespace galen::alloc {

// The name of an attribute or a capacity: "gpu.example.com/memory". A name that is written without
// a domain has its driver's.
struct QualifiedName {
  std::string domain;
  std::string id;

  auto operator<=>(const QualifiedName&) const = default;
};
// "domain/id".
inline std::string ToString(const QualifiedName& name) { return name.domain + "/" + name.id; }
// Splits at the first "/"; without one, `driver` is the domain.
inline QualifiedName ParseQualifiedName(std::string_view text, std::string_view driver) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {std::string(driver), std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

// A kind of attribute that this program does not know. Upstream's allocator refuses to evaluate any
// selector on such a device, whether the selector reads the attribute or not.
struct UnknownKind {
  auto operator<=>(const UnknownKind&) const = default;
};
// A list is of one kind (KEP-5491).
using AttributeValue =
    std::variant<UnknownKind, bool, std::int64_t, std::string, SemanticVersion, std::vector<bool>,
                 std::vector<std::int64_t>, std::vector<std::string>, std::vector<SemanticVersion>>;

struct DeviceFacts {
  std::string driver;
  // Both ordered by name, and each name once.
  std::vector<std::pair<QualifiedName, AttributeValue>> attributes;
  std::vector<std::pair<QualifiedName, Quantity>> capacity;
  // More than one claim may have a share (KEP-5075).
  bool allow_multiple_allocations = false;
};

// The value of `name` in one of the lists above; null when there is none.
template <typename Value>
const Value* Find(const std::vector<std::pair<QualifiedName, Value>>& entries,
                  std::string_view domain, std::string_view id) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), std::pair(domain, id),
                                   [](const auto& entry, const auto& name) {
                                     const auto& [entry_name, value] = entry;
                                     return std::pair<std::string_view, std::string_view>(
                                                entry_name.domain, entry_name.id) < name;
                                   });
  if (at == entries.end() || at->first.domain != domain || at->first.id != id) return nullptr;
  return &at->second;
}

}  // namespace galen::alloc
