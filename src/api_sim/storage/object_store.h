// Every object of the API at its newest version, and the last changes of each collection. One
// counter numbers all changes; it is what clients know as resourceVersion. Knows nothing of kinds
// or rules, and stores every object. Objects are immutable snapshots, shared with the history and
// with readers.
// Belongs to the API's loop. A collection is named "GROUP/PLURAL" and begins with its first object.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"
#include "model/claim.h"

namespace galen::api_sim {

// Shared because the store, its history and answers under way read the same immutable value.
using Snapshot = std::shared_ptr<const Json>;

// One write: `before` is null for a new object, `after` for a removed one. A removal's `before`
// carries the version of the removal.
struct Change {
  std::uint64_t version = 0;
  ObjectKey key;
  Snapshot before;
  Snapshot after;
};

class ObjectStore {
 public:
  // The store's first version, and its history's length.
  struct Options {
    // Versions start after this; a later start must begin higher, so that a client of an earlier
    // run must list again.
    std::uint64_t first_version = 1;
    // Changes that are kept for each collection. A watch or page of an older version gets 410.
    std::size_t history_max = 8192;
  };
  // Called for every change, right after it was made and before the writer continues. May read the
  // store. If it writes, later listeners see that change before the one that caused it, so most
  // wait for a turn of the loop.
  using OnChange = std::function<void(const std::string& collection, const Change& change)>;

  // Empty, at options.first_version.
  explicit ObjectStore(Options options)
      : options_(options), version_(options.first_version), loaded_(options.first_version) {}

  // Listeners are never removed; they are called in the order in which they were added.
  void AddListener(OnChange listener) { listeners_.push_back(std::move(listener)); }

  // Restores an object from before the process started, with its resourceVersion; listeners are not
  // called, and no version is used. REQUIRES: nothing was put yet, and StartAt() follows.
  void Load(const std::string& collection, const ObjectKey& key, Json object);
  void Unload(const std::string& collection, const ObjectKey& key);
  // From here on versions are above `version`, and older history counts as dropped. Never goes
  // back: a version lower than the present one changes nothing but the history.
  void StartAt(std::uint64_t version);

  // Writes the object with a new metadata.resourceVersion and returns it, even for an object
  // without changes: callers compare first.
  Snapshot Put(const std::string& collection, const ObjectKey& key, Json object);
  // Removes the object; returns its last state, with the version of its removal. REQUIRES: it
  // exists.
  Snapshot Remove(const std::string& collection, const ObjectKey& key);

  Snapshot Get(const std::string& collection, const ObjectKey& key) const;  // null: none
  // In order of namespace and name; `ns` "" is all namespaces.
  std::vector<Snapshot> List(const std::string& collection, const std::string& ns) const;
  // The same at `version`; nullopt when the history does not reach back that far.
  std::optional<std::vector<Snapshot>> ListAt(const std::string& collection, const std::string& ns,
                                              std::uint64_t version) const;
  // All collections that ever held an object, in order of their names.
  std::vector<std::string> Collections() const;

  // The version of the newest change of any collection.
  std::uint64_t version() const { return version_; }
  // All changes after this version are still in the history.
  std::uint64_t OldestKnown(const std::string& collection) const;
  // The first change after `version`, or null. Stays valid until the next write. REQUIRES, to miss
  // none: `version` is not below OldestKnown().
  const Change* NextChange(const std::string& collection, std::uint64_t version) const;

 private:
  using Objects = std::map<ObjectKey, Snapshot>;
  struct Collection {
    Objects objects;
    // In order of versions, at most history_max.
    std::deque<Change> history;
    std::uint64_t forgotten = 0;  // version of the newest change that was dropped from the history
  };

  const Collection* Find(const std::string& collection) const;
  void Record(const std::string& collection, Change change);

  const Options options_;
  std::uint64_t version_;
  // Objects from before the start are known, but not their changes.
  std::uint64_t loaded_;
  std::map<std::string, Collection> collections_;
  std::vector<OnChange> listeners_;
};

}  // namespace galen::api_sim
