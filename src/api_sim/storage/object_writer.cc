// Tested by tests/contract/object_test.cc and tests/contract/patch_test.cc, from outside.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api_sim/objects/object_meta.h"
#include "api_sim/objects/schema.h"
#include "api_sim/patch/managed_fields.h"
#include "api_sim/rules/ephemeral_containers.h"
#include "api_sim/rules/rules.h"
#include "api_sim/storage/object_access.h"

namespace galen::api_sim {
namespace {

// The whole object after the write of `desired`: a status write keeps the rest, any other write
// keeps the status.
Json Combine(const WriteTarget& target, const Json& before, Json desired) {
  // A binding sets the node and says so in the status at once.
  if (!target.kind->has_status || target.subresource == "binding") return desired;
  if (target.subresource == kEphemeralContainers) return WithEphemeralContainers(before, desired);
  const bool status_write = target.subresource == "status";
  Json after = status_write ? before : desired;
  const Json& source = status_write ? desired : before;
  // Owner references belong to the main part even where the status may write metadata.
  if (status_write && StatusWritesMeta(*target.kind)) {
    Json meta = std::as_const(desired)["metadata"];
    if (const Json* owners = before["metadata"].Find("ownerReferences")) {
      meta["ownerReferences"] = *owners;
    } else {
      meta.Erase("ownerReferences");
    }
    after["metadata"] = std::move(meta);
  }
  if (const Json* status = source.Find("status")) {
    after["status"] = *status;
  } else {
    after.Erase("status");
  }
  return after;
}

// A uid in the body means that object. In a PUT it is a precondition; in a patch another uid would
// change a field that never changes (registry/generic/registry/store.go upstream).
std::optional<Refusal> CheckUid(const WriteTarget& target, const Json& before, const Json& desired,
                                bool is_put) {
  const Subject subject = target.kind->subject(target.key.name);
  const std::string& uid = desired["metadata"]["uid"].AsString();
  const std::string& own_uid = before["metadata"]["uid"].AsString();
  if (uid.empty() || uid == own_uid) return std::nullopt;
  if (!is_put) {
    return InvalidRefusal(subject, {InvalidFault("metadata.uid", uid, "field is immutable")});
  }
  return ConflictRefusal(subject,
                         fmt::format("Precondition failed: UID in precondition: {}, UID in "
                                     "object meta: {}",
                                     uid, own_uid));
}

// Optimistic concurrency: a version in the body is a precondition.
std::optional<Refusal> CheckVersion(const WriteTarget& target, const Json& before,
                                    const Json& desired) {
  const Subject subject = target.kind->subject(target.key.name);
  const std::string& version = desired["metadata"]["resourceVersion"].AsString();
  // Go shows an unset version as 0.
  if (version.empty() && target.kind->needs_version_to_update) {
    return InvalidRefusal(
        subject, {InvalidFault("metadata.resourceVersion", 0, "must be specified for an update")});
  }
  if (!version.empty() && version != before["metadata"]["resourceVersion"].AsString()) {
    return ConflictRefusal(subject, kObjectModified);
  }
  return std::nullopt;
}

Refusal StrictRefusal(const Kind& kind, const std::vector<std::string>& unknown) {
  std::vector<std::string> sentences;
  for (const std::string& path : unknown) {
    sentences.push_back(fmt::format("unknown field \"{}\"", path));
  }
  return BadRequest(fmt::format(
      "{} in version \"{}\" cannot be handled as a {}: strict decoding "
      "error: {}",
      kind.resource.kind, kind.resource.version, kind.resource.kind, fmt::join(sentences, ", ")));
}

void AddFaults(Faults& faults, Faults more) {
  faults.insert(faults.end(), more.begin(), more.end());
}

// Faults by the schema. A Pod's status may hold a key of a list twice: upstream checks that only
// for an apply, and for the devices of one entry, see CheckPodChange().
Faults CheckSchema(const Kind& kind, const Json& object) {
  if (kind.schema.is_null()) return {};
  Faults faults = ValidateSchema(kind.schema, object);
  if (kind.resource == kube::kPods) {
    std::erase_if(faults, [](const Fault& fault) {
      return fault.reason == "FieldValueDuplicate" && fault.field.starts_with("status.");
    });
  }
  return faults;
}

// An object that is being deleted may lose finalizers, but not get new ones.
Faults CheckFinalizers(const Json& before, const Json& after) {
  if (!before["metadata"].Has("deletionTimestamp")) return {};
  const Json::Array& old = before["metadata"]["finalizers"].items();
  for (const Json& finalizer : after["metadata"]["finalizers"].items()) {
    if (std::ranges::find(old, finalizer) != old.end()) continue;
    return {ForbiddenFault("metadata.finalizers",
                           fmt::format("no new finalizers can be added if the object is being "
                                       "deleted, found new finalizers []string{{{}}}",
                                       finalizer.Dump()))};
  }
  return {};
}

// Removed once the last finalizer is gone and the grace period is zero.
bool IsReadyToGo(const Json& object) {
  const Json& meta = object["metadata"];
  return meta.Has("deletionTimestamp") && meta["finalizers"].items().empty() &&
         meta["deletionGracePeriodSeconds"].AsInt() == 0;
}

}  // namespace

ObjectWriter::ObjectWriter(Loop& loop, Random& random, ObjectStore& store)
    : loop_(loop), random_(random), store_(store) {}

Outcome<Written> ObjectWriter::Create(const WriteTarget& target, Json object) {
  // A new object cannot have a version.
  if (!std::as_const(object)["metadata"]["resourceVersion"].AsString().empty()) {
    return BadRequest("resourceVersion should not be set on objects to be created");
  }
  return Insert(target, std::move(object), Way::kPut);
}

Outcome<Written> ObjectWriter::Update(const WriteTarget& target, Json desired) {
  const Snapshot before = store_.Get(target.kind->collection(), target.key);
  if (before == nullptr && target.kind->put_creates && target.subresource.empty()) {
    return Insert(target, std::move(desired), Way::kPut);
  }
  if (before == nullptr) return NotFoundRefusal(target.kind->subject(target.key.name));
  return Replace(target, *before, std::move(desired), Way::kPut);
}

Outcome<Written> ObjectWriter::Change(const WriteTarget& target, const Edit& edit) {
  const Snapshot before = store_.Get(target.kind->collection(), target.key);
  if (before == nullptr) return NotFoundRefusal(target.kind->subject(target.key.name));
  // Patches are written in the URL's version, objects are stored in the version in which they came.
  Json present = *before;
  present["apiVersion"] = target.kind->resource.api_version();
  ASSIGN_OR_RETURN(Json desired, edit(present));
  if (!desired.is_object()) return BadRequest("the patch makes the object something else");
  // A patch is unconditional if it names no version, also for kinds whose PUT must name one.
  if (!std::as_const(desired)["metadata"]["resourceVersion"].is_string()) {
    desired["metadata"]["resourceVersion"] = (*before)["metadata"]["resourceVersion"];
  }
  return Replace(target, *before, std::move(desired), Way::kPatch);
}

Outcome<Written> ObjectWriter::Apply(const WriteTarget& target, Json applied, bool force) {
  if (auto refusal = CheckIdentity(target, applied)) return *refusal;
  const Snapshot before = store_.Get(target.kind->collection(), target.key);
  // Only a write of the main resource creates the object.
  if (before == nullptr && !target.subresource.empty()) {
    return NotFoundRefusal(target.kind->subject(target.key.name));
  }
  // A uid in the configuration means an earlier object, and must not create another one.
  if (const std::string& uid = std::as_const(applied)["metadata"]["uid"].AsString();
      before == nullptr && !uid.empty()) {
    return ConflictRefusal(target.kind->subject(target.key.name),
                           fmt::format("uid mismatch: the provided object specified uid {}, and no "
                                       "existing object was found",
                                       uid));
  }
  const Json nothing = Json::MakeObject({});
  const ApplyRequest request{.kind = *target.kind,
                             .manager = target.manager,
                             .subresource = target.subresource,
                             .force = force,
                             .now = loop_.WallNow()};
  ASSIGN_OR_RETURN(Json merged,
                   ApplyConfiguration(request, before == nullptr ? nothing : *before, applied));
  if (before == nullptr) return Insert(target, std::move(merged), Way::kApply);
  return Replace(target, *before, std::move(merged), Way::kApply);
}

std::optional<Refusal> ObjectWriter::CheckIdentity(const WriteTarget& target, Json& object) const {
  if (!object.is_object()) return BadRequest("the body is no object");
  const kube::Resource& resource = target.kind->resource;
  const Json& asked = std::as_const(object);
  const std::string version = asked["apiVersion"].AsString();
  const std::string kind = asked["kind"].AsString();
  if (!version.empty() && version != resource.api_version()) {
    return BadRequest(
        fmt::format("the API version in the data ({}) does not match the expected "
                    "API version ({})",
                    version, resource.api_version()));
  }
  if (!kind.empty() && kind != resource.kind) {
    return BadRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}", kind,
                                  resource.version, resource.kind));
  }
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  if (!asked["metadata"].is_null() && !asked["metadata"].is_object()) {
    return BadRequest("metadata is no object");
  }
  Json& meta = object["metadata"];
  const std::string ns = asked["metadata"]["namespace"].AsString();
  if (resource.namespaced && !ns.empty() && ns != target.key.ns) {
    return BadRequest(
        fmt::format("the namespace of the provided object does not match the "
                    "namespace sent on the request"));
  }
  if (resource.namespaced) meta["namespace"] = target.key.ns;
  if (!resource.namespaced) meta.Erase("namespace");
  const std::string name = asked["metadata"]["name"].AsString();
  if (!target.key.name.empty() && !name.empty() && name != target.key.name) {
    return BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL "
                    "({})",
                    name, target.key.name));
  }
  if (!target.key.name.empty()) meta["name"] = target.key.name;
  return std::nullopt;
}

std::optional<Refusal> ObjectWriter::CheckNamespace(const WriteTarget& target) const {
  if (!target.kind->resource.namespaced) return std::nullopt;
  const Snapshot ns = store_.Get("/namespaces", {"", target.key.ns});
  if (ns == nullptr) return NotFoundRefusal({"", "namespaces", "Namespace", target.key.ns});
  if (!(*ns)["metadata"].Has("deletionTimestamp")) return std::nullopt;
  Refusal refusal = ForbiddenRefusal(
      target.kind->subject(target.key.name),
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  target.key.ns));
  refusal.details["causes"] = Json::MakeArray({Json::MakeObject(
      {{"reason", "NamespaceTerminating"},
       {"message", fmt::format("namespace {} is being terminated", target.key.ns)},
       {"field", "metadata.namespace"}})});
  return refusal;
}

// Applies defaults and handles unknown fields; returns the warnings.
Outcome<std::vector<std::string>> ObjectWriter::Normalize(const WriteTarget& target,
                                                          Json& object) const {
  const Kind& kind = *target.kind;
  // A custom object may contain null; built-in types cannot, in Go.
  DropNulls(kind.custom ? object["metadata"] : object);
  std::vector<std::string> warnings;
  if (kind.schema.is_null()) return warnings;
  // Unknown fields are dropped, dropped with a warning, or refused (?fieldValidation=, KEP-2885).
  const std::vector<std::string> unknown = Prune(kind.schema, object);
  if (!unknown.empty() && target.validation == "Strict") return StrictRefusal(kind, unknown);
  if (target.validation != "Ignore") {
    for (const std::string& path : unknown) {
      warnings.push_back(fmt::format("unknown field \"{}\"", path));
    }
  }
  // Before defaults: an empty list counts as absent. In a custom object only the metadata has a Go
  // type.
  if (!kind.custom) {
    DropEmpty(kind.schema, object);
  } else if (object.Has("metadata")) {
    DropEmpty(kind.schema["properties"]["metadata"], object["metadata"]);
  }
  ApplyDefaults(kind.schema, object);
  return warnings;
}

Outcome<Written> ObjectWriter::Insert(const WriteTarget& target, Json object, Way way) {
  const Kind& kind = *target.kind;
  if (auto refusal = CheckIdentity(target, object)) return *refusal;
  if (auto refusal = CheckNamespace(target)) return *refusal;
  const bool generated = std::as_const(object)["metadata"]["name"].AsString().empty();
  StampNew(kind, object, random_, loop_.WallNow());
  for (int i = 1; generated && i < kGeneratedNamesMax; ++i) {
    if (store_.Get(kind.collection(), KeyOf(object)) == nullptr) break;
    object["metadata"]["name"] = "";
    StampNew(kind, object, random_, loop_.WallNow());
  }
  // Before defaults and rules, which may fill in a first status.
  if (kind.has_status) object.Erase("status");
  ASSIGN_OR_RETURN(std::vector<std::string> warnings, Normalize(target, object));
  // The order of all writes: defaults of the schema, then of the kind, then checks from general to
  // special. Special ones read the object's parts and rely on their types, so they come last and
  // only when nothing was wrong.
  PrepareNew(kind, object, loop_.WallNow());
  Faults faults = CheckMeta(kind, object);
  AddFaults(faults, CheckSchema(kind, object));
  if (faults.empty()) AddFaults(faults, CheckNew(kind, object));
  if (faults.empty()) AddFaults(faults, CheckObject(kind, object));
  const ObjectKey key = KeyOf(object);
  if (!faults.empty()) return InvalidRefusal(kind.subject(key.name), faults);
  // After the checks, as upstream: an invalid object is refused whether or not its name is taken.
  if (store_.Get(kind.collection(), key) != nullptr) {
    return AlreadyExistsRefusal(kind.subject(key.name));
  }
  if (way != Way::kApply) {
    TrackUpdate(kind, target.manager, "", loop_.WallNow(), Json::MakeObject({}), object);
  }
  if (target.dry_run) return Written{201, std::move(object), std::move(warnings)};
  return Written{201, *store_.Put(kind.collection(), key, std::move(object)), std::move(warnings)};
}

// Steps in upstream's order: uid, version, the whole object, defaults, checks, owners, and whether
// anything changed.
Outcome<Written> ObjectWriter::Replace(const WriteTarget& target, const Json& before, Json desired,
                                       Way way) {
  const Kind& kind = *target.kind;
  if (auto refusal = CheckIdentity(target, desired)) return *refusal;
  // If a patch was made for an older version, that is reported first.
  const auto uid_refusal = CheckUid(target, before, desired, way == Way::kPut);
  if (way == Way::kPut && uid_refusal) return *uid_refusal;
  if (auto refusal = CheckVersion(target, before, desired)) return *refusal;
  if (uid_refusal) return *uid_refusal;
  // Kept aside, since the steps below take metadata apart.
  const Json managed = std::as_const(desired)["metadata"]["managedFields"];
  Json after = Combine(target, before, std::move(desired));
  KeepSystemMeta(before, after);
  ASSIGN_OR_RETURN(std::vector<std::string> warnings, Normalize(target, after));
  PrepareChanged(kind, before, after, loop_.WallNow());
  CountGeneration(kind, before, after);
  Faults faults = CheckMeta(kind, after);
  AddFaults(faults, CheckFinalizers(before, after));
  AddFaults(faults, CheckSchema(kind, after));
  if (faults.empty()) AddFaults(faults, CheckObject(kind, after));
  if (faults.empty()) AddFaults(faults, CheckChange(kind, before, after, target.subresource));
  if (!faults.empty()) return InvalidRefusal(kind.subject(target.key.name), faults);
  if (way == Way::kApply) {
    after["metadata"]["managedFields"] = managed;
  } else {
    after["metadata"]["managedFields"] = before["metadata"]["managedFields"];
    TrackUpdate(kind, target.manager, target.subresource, loop_.WallNow(), before, after);
  }
  // An apply may only change owners; that is written, newer times alone are not.
  if (IsSameObject(before, after) &&
      (way != Way::kApply ||
       IsSameOwnership(before["metadata"]["managedFields"], after["metadata"]["managedFields"]))) {
    return Written{200, before, std::move(warnings)};
  }
  Written written = Store(target, before, std::move(after));
  written.warnings = std::move(warnings);
  return written;
}

Written ObjectWriter::Store(const WriteTarget& target, const Json& before, Json after) {
  if (target.dry_run) return {200, std::move(after), {}};
  const std::string collection = target.kind->collection();
  // The last finalizer of an object marked for deletion was removed: this write removes the object.
  if (IsReadyToGo(after) && before["metadata"].Has("deletionTimestamp")) {
    store_.Remove(collection, target.key);
    return {200, std::move(after), {}};
  }
  return {200, *store_.Put(collection, target.key, std::move(after)), {}};
}

}  // namespace galen::api_sim
