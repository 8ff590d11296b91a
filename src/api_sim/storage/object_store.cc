#include "api_sim/storage/object_store.h"

#include <algorithm>

namespace galen::api_sim {
namespace {

Snapshot Stamp(Json object, std::uint64_t version) {
  object["metadata"]["resourceVersion"] = std::to_string(version);
  return std::make_shared<const Json>(std::move(object));
}

// The map is ordered by namespace first, so one namespace is a run of it.
std::vector<Snapshot> Values(const std::map<ObjectKey, Snapshot>& objects, const std::string& ns) {
  std::vector<Snapshot> values;
  for (auto it = objects.lower_bound({ns, ""}); it != objects.end(); ++it) {
    if (!ns.empty() && it->first.ns != ns) break;
    values.push_back(it->second);
  }
  return values;
}

}  // namespace

void ObjectStore::Load(const std::string& collection, const ObjectKey& key, Json object) {
  collections_[collection].objects[key] = std::make_shared<const Json>(std::move(object));
}

void ObjectStore::Unload(const std::string& collection, const ObjectKey& key) {
  collections_[collection].objects.erase(key);
}

void ObjectStore::StartAt(std::uint64_t version) {
  version_ = std::max(version_, version);
  loaded_ = version_;
}

Snapshot ObjectStore::Put(const std::string& collection, const ObjectKey& key, Json object) {
  const Snapshot after = Stamp(std::move(object), ++version_);
  Snapshot& slot = collections_[collection].objects[key];
  const Snapshot before = std::exchange(slot, after);
  Record(collection, {version_, key, before, after});
  return after;
}

Snapshot ObjectStore::Remove(const std::string& collection, const ObjectKey& key) {
  Objects& objects = collections_[collection].objects;
  const auto it = objects.find(key);
  GALEN_CHECK(it != objects.end());
  // A removal has a version of its own: watchers see the object with it.
  const Snapshot last = Stamp(*it->second, ++version_);
  objects.erase(it);
  Record(collection, {version_, key, last, nullptr});
  return last;
}

Snapshot ObjectStore::Get(const std::string& collection, const ObjectKey& key) const {
  const Collection* found = Find(collection);
  if (found == nullptr) return nullptr;
  const auto it = found->objects.find(key);
  return it == found->objects.end() ? nullptr : it->second;
}

std::vector<Snapshot> ObjectStore::List(const std::string& collection,
                                        const std::string& ns) const {
  const Collection* found = Find(collection);
  return found == nullptr ? std::vector<Snapshot>{} : Values(found->objects, ns);
}

std::optional<std::vector<Snapshot>> ObjectStore::ListAt(const std::string& collection,
                                                         const std::string& ns,
                                                         std::uint64_t version) const {
  if (version < OldestKnown(collection)) return std::nullopt;
  const Collection* found = Find(collection);
  if (found == nullptr) return std::vector<Snapshot>{};
  // Backwards from the present: each change newer than `version` is undone.
  Objects objects = found->objects;
  for (auto it = found->history.rbegin(); it != found->history.rend(); ++it) {
    if (it->version <= version) break;
    if (it->before == nullptr) {
      objects.erase(it->key);
    } else {
      objects[it->key] = it->before;
    }
  }
  return Values(objects, ns);
}

std::vector<std::string> ObjectStore::Collections() const {
  std::vector<std::string> names;
  for (const auto& [name, collection] : collections_) names.push_back(name);
  return names;
}

std::uint64_t ObjectStore::OldestKnown(const std::string& collection) const {
  const Collection* found = Find(collection);
  return std::max(loaded_, found == nullptr ? 0 : found->forgotten);
}

const Change* ObjectStore::NextChange(const std::string& collection, std::uint64_t version) const {
  const Collection* found = Find(collection);
  if (found == nullptr) return nullptr;
  const auto it = std::partition_point(found->history.begin(), found->history.end(),
                                       [version](const Change& c) { return c.version <= version; });
  return it == found->history.end() ? nullptr : &*it;
}

const ObjectStore::Collection* ObjectStore::Find(const std::string& collection) const {
  const auto it = collections_.find(collection);
  return it == collections_.end() ? nullptr : &it->second;
}

void ObjectStore::Record(const std::string& collection, Change change) {
  Collection& record = collections_[collection];
  record.history.push_back(change);
  if (record.history.size() > options_.history_max) {
    // Before the listeners are called: one that reads the history may now be too late.
    record.forgotten = record.history.front().version;
    record.history.pop_front();
  }
  for (const OnChange& listener : listeners_) listener(collection, change);
}

}  // namespace galen::api_sim
