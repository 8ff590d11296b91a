// Every change of an object goes through here: checks, defaults, system fields, conflicts, then the
// store. Nothing is written that would change nothing, so a repeated request costs no version and
// wakes no watcher. A dry run goes all the way but for the store. Belongs to the API's loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api_sim/objects/kinds.h"
#include "api_sim/storage/object_store.h"
#include "base/loop/loop.h"
#include "base/random.h"

namespace galen::api_sim {

// What a write is about and how it is meant; read from the request's path and query.
struct WriteTarget {
  KindRef kind;
  ObjectKey key;            // its name is "" for POST
  std::string subresource;  // "", "status"
  std::string manager;      // who is said to own the fields
  std::string validation;   // of unknown fields: "Strict", "Warn" (also "") or "Ignore"
  bool dry_run = false;
};

// The object as it is now (of a dry run: as it would be), the HTTP status and the sentences that go
// out as Warning headers.
struct Written {
  int code = 200;
  Json object;
  std::vector<std::string> warnings;
};

class ObjectWriter {
 public:
  // What is lent outlives the writer. Randomness is for uids and generated names.
  ObjectWriter(Loop& loop, Random& random, ObjectStore& store);

  // 201. 409 AlreadyExists when the name is taken, 404 or 403 for a namespace that is not there or
  // is ending, 400 or 422 for an object that is not in order.
  Outcome<Written> Create(const WriteTarget& target, Json object);
  // Replaces the object, or its status, by `desired`. 404 unless the kind may be created so; 409
  // Conflict when `desired` names another version or uid than the present one. Of a patch or an
  // apply, another uid is a change of a field that never changes: 422, as upstream has it.
  Outcome<Written> Update(const WriteTarget& target, Json desired);
  // Replaces it by what `edit` makes of the present one, shown in the target's version. A result
  // that names no version is taken without a condition. Refusals of `edit` are passed on.
  using Edit = std::function<Outcome<Json>(const Json& present)>;
  Outcome<Written> Change(const WriteTarget& target, const Edit& edit);
  // Server-side apply: creates the object or merges `applied` into it, see ApplyConfiguration().
  Outcome<Written> Apply(const WriteTarget& target, Json applied, bool force);

  // Tries before a taken generated name is a conflict (maxNameGenerationCreateAttempts upstream).
  static constexpr int kGeneratedNamesMax = 8;  // tries before a taken name is a conflict

 private:
  // How a change came. It decides how another object's uid is refused, and whether managedFields
  // are yet to be worked out (those of an apply were, by ApplyConfiguration()).
  enum class Way { kPut, kPatch, kApply };

  // Version, kind, namespace and name of the body agree with the URL; what the body leaves out is
  // filled in from it.
  std::optional<Refusal> CheckIdentity(const WriteTarget& target, Json& object) const;
  // The namespace is there and takes new objects.
  std::optional<Refusal> CheckNamespace(const WriteTarget& target) const;
  Outcome<std::vector<std::string>> Normalize(const WriteTarget& target, Json& object) const;
  // The rest of a write of a new object, and of one that exists.
  Outcome<Written> Insert(const WriteTarget& target, Json object, Way way);
  Outcome<Written> Replace(const WriteTarget& target, const Json& before, Json desired, Way way);
  // The last step: the object, or its removal when it was kept only by what this write took away.
  Written Store(const WriteTarget& target, const Json& before, Json after);

  Loop& loop_;
  Random& random_;
  ObjectStore& store_;
};

}  // namespace galen::api_sim
