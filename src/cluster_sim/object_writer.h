// Every change of an object goes through here: checks, defaults, system fields, conflicts, then the
// store. Nothing is written that would change nothing. Belongs to the API's loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "cluster_sim/kinds.h"
#include "cluster_sim/object_store.h"

namespace galen::cluster_sim {

// What a write is about and how it is meant.
struct WriteTarget {
  KindRef kind;
  ObjectKey key;            // its name is "" for POST
  std::string subresource;  // "", "status"
  std::string manager;      // who is said to own the fields
  std::string validation;   // of unknown fields: "Strict", "Warn" (also "") or "Ignore"
  bool dry_run = false;
};

struct Written {
  int code = 200;
  Json object;
  std::vector<std::string> warnings;
};

class ObjectWriter {
 public:
  // What is lent outlives the writer.
  ObjectWriter(Loop& loop, Random& random, ObjectStore& store);

  Outcome<Written> Create(const WriteTarget& target, Json object);
  // Replaces the object, or its status, by `desired`.
  Outcome<Written> Update(const WriteTarget& target, Json desired);
  // Replaces it by what `edit` makes of the present one.
  using Edit = std::function<Outcome<Json>(const Json& present)>;
  Outcome<Written> Change(const WriteTarget& target, const Edit& edit);
  // Server-side apply: creates the object or merges `applied` into it.
  Outcome<Written> Apply(const WriteTarget& target, Json applied, bool force);

  static constexpr int kGeneratedNamesMax = 8;  // tries before a taken name is a conflict

 private:
  enum class Manage { kUpdate, kApply };

  std::optional<Refusal> CheckIdentity(const WriteTarget& target, Json& object) const;
  std::optional<Refusal> CheckNamespace(const WriteTarget& target) const;
  Outcome<std::vector<std::string>> Normalize(const WriteTarget& target, Json& object) const;
  Outcome<Written> Insert(const WriteTarget& target, Json object, Manage manage);
  Outcome<Written> Replace(const WriteTarget& target, const Json& before, Json desired,
                           Manage manage);
  Written Store(const WriteTarget& target, const Json& before, Json after);

  Loop& loop_;
  Random& random_;
  ObjectStore& store_;
};

}  // namespace galen::cluster_sim
