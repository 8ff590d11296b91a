// Decodes a list of objects one by one, so that a broken one hides only itself, as with an
// informer. Pure.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "base/data/json.h"
#include "kube/resource.h"
#include "model/claim.h"

namespace galen::cli {

// The objects that `decode` accepts, in order; a sentence in `notes` for each other one.
template <typename T>
std::vector<T> DecodeAll(const std::vector<Json>& objects, const kube::Resource& resource,
                         StatusOr<T> (*decode)(const Json&), std::vector<std::string>& notes) {
  std::vector<T> decoded;
  for (const Json& object : objects) {
    StatusOr<T> one = decode(object);
    if (one.ok()) {
      decoded.push_back(std::move(one).value());
      continue;
    }
    const Json& meta = object["metadata"];
    notes.push_back(
        fmt::format("{} {} is left out: {}", resource.kind,
                    ToString(ObjectKey{meta["namespace"].AsString(), meta["name"].AsString()}),
                    one.status().message()));
  }
  return decoded;
}

}  // namespace galen::cli
