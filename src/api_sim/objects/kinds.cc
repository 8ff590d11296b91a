#include "api_sim/objects/kinds.h"

#include <algorithm>

namespace galen::api_sim {

KindTable::KindTable() {
  for (Kind& kind : BuiltInKinds()) Put(std::move(kind));
}

void KindTable::Put(Kind kind) {
  const kube::Resource& resource = kind.resource;
  const Key key{resource.group, resource.plural, resource.version};
  kinds_[key] = std::make_shared<const Kind>(std::move(kind));
}

void KindTable::Remove(std::string_view group, std::string_view plural) {
  std::erase_if(kinds_, [&](const auto& entry) {
    return std::get<0>(entry.first) == group && std::get<1>(entry.first) == plural;
  });
}

KindRef KindTable::Find(std::string_view group, std::string_view version,
                        std::string_view plural) const {
  const auto it = kinds_.find(Key{std::string(group), std::string(plural), std::string(version)});
  return it == kinds_.end() ? nullptr : it->second;
}

KindRef KindTable::FindCollection(std::string_view collection) const {
  const std::size_t slash = collection.rfind('/');
  if (slash == std::string_view::npos) return nullptr;
  const std::string group(collection.substr(0, slash));
  const std::string plural(collection.substr(slash + 1));
  // The version is the last part of the key, so all versions of a resource are adjacent.
  const auto it = kinds_.lower_bound(Key{group, plural, ""});
  if (it == kinds_.end() || it->second->collection() != collection) return nullptr;
  return it->second;
}

bool KindTable::HasVersion(std::string_view group, std::string_view version) const {
  return std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& entry) {
    return std::get<0>(entry.first) == group && std::get<2>(entry.first) == version;
  });
}

std::vector<KindRef> KindTable::all() const {
  std::vector<KindRef> kinds;
  for (const auto& [key, kind] : kinds_) kinds.push_back(kind);
  return kinds;
}

}  // namespace galen::api_sim
