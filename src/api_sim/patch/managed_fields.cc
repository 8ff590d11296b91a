#include "api_sim/patch/managed_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <vector>

#include "api_sim/objects/schema.h"
#include "api_sim/rules/rules.h"

namespace galen::api_sim {
namespace {

// One entry of metadata.managedFields.
struct Owner {
  std::string manager;
  std::string operation;  // "Apply" or "Update"
  std::string api_version;
  std::string subresource;
  std::string time;
  FieldSet fields;

  // Identifies an entry of the list; a manager that both applies and updates has two.
  bool IsSame(const Owner& other) const {
    return manager == other.manager && operation == other.operation &&
           api_version == other.api_version && subresource == other.subresource;
  }
};

std::vector<Owner> ReadOwners(const Json& list) {
  std::vector<Owner> owners;
  for (const Json& entry : list.items()) {
    owners.push_back({entry["manager"].AsString(), entry["operation"].AsString(),
                      entry["apiVersion"].AsString(), entry["subresource"].AsString(),
                      entry["time"].AsString(), FromFieldsV1(entry["fieldsV1"])});
  }
  return owners;
}

void WriteOwners(const std::vector<Owner>& owners, Json& object) {
  Json list = Json(Json::Array());
  for (const Owner& owner : owners) {
    // An owner without fields is dropped.
    if (owner.fields.empty()) continue;
    Json entry = Json::MakeObject({{"manager", owner.manager},
                                   {"operation", owner.operation},
                                   {"apiVersion", owner.api_version},
                                   {"time", owner.time},
                                   {"fieldsType", "FieldsV1"},
                                   {"fieldsV1", ToFieldsV1(owner.fields)}});
    if (!owner.subresource.empty()) entry["subresource"] = owner.subresource;
    list.Append(std::move(entry));
  }
  if (list.items().empty()) {
    object["metadata"].Erase("managedFields");
  } else {
    object["metadata"]["managedFields"] = std::move(list);
  }
}

// Names and fields that only the API writes have no owner: the list of upstream's stripMeta.
Json WithoutSystemFields(Json object) {
  object.Erase("apiVersion");
  object.Erase("kind");
  if (!object.Has("metadata")) return object;
  Json& meta = object["metadata"];
  for (const char* field :
       {"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation",
        "resourceVersion", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    meta.Erase(field);
  }
  if (meta.members().empty()) object.Erase("metadata");
  return object;
}

// The part of an applied configuration that belongs to this (sub)resource.
Json Effective(const ApplyRequest& request, const Json& applied) {
  Json effective = WithoutSystemFields(applied);
  if (!request.kind.has_status) return effective;
  if (request.subresource != "status") {
    effective.Erase("status");
    return effective;
  }
  Json status = Json::MakeObject({});
  if (applied.Has("status")) status["status"] = applied["status"];
  if (!StatusWritesMeta(request.kind)) return status;
  for (const char* field : {"labels", "annotations"}) {
    const Json& value = std::as_const(effective)["metadata"][field];
    if (!value.is_null()) status["metadata"][field] = value;
  }
  return status;
}

// Fields that `owner` has and the applier wants to change.
struct Conflict {
  const Owner* owner;
  std::vector<std::string> fields;
};

// The owner as kubectl shows it; upstream shows the time of updates only.
std::string With(const Owner& owner) {
  std::string text = fmt::format("\"{}\"", owner.manager);
  if (!owner.subresource.empty())
    text += fmt::format(" with subresource \"{}\"", owner.subresource);
  text += " using " + owner.api_version;
  if (owner.operation == "Update" && !owner.time.empty()) text += " at " + owner.time;
  return text;
}

// Uses the message that kubectl prints above its advice to use --force-conflicts.
Refusal ConflictsRefusal(const std::vector<Conflict>& conflicts) {
  Json causes = Json(Json::Array());
  std::vector<std::string> sentences;
  for (const Conflict& conflict : conflicts) {
    const std::string with = With(*conflict.owner);
    for (const std::string& field : conflict.fields) {
      causes.Append(Json::MakeObject({{"reason", "FieldManagerConflict"},
                                      {"message", "conflict with " + with},
                                      {"field", field}}));
    }
    sentences.push_back(
        conflict.fields.size() == 1
            ? fmt::format("conflict with {}: {}", with, conflict.fields.front())
            : fmt::format("conflicts with {}:\n- {}", with, fmt::join(conflict.fields, "\n- ")));
  }
  const std::size_t count = causes.items().size();
  Refusal refusal{409,
                  "Conflict",
                  fmt::format("Apply failed with {} conflict{}: {}", count, count == 1 ? "" : "s",
                              fmt::join(sentences, "\n")),
                  {}};
  refusal.details["causes"] = std::move(causes);
  return refusal;
}

// The keys of a list item as conflicts and refusals show them: [type="A"]; of a set: [="a"].
std::string ShownKey(const Json& identity) {
  if (!identity.is_object()) return fmt::format("[={}]", identity.Dump());
  std::vector<std::string> keys;
  for (const auto& [name, value] : identity.members()) {
    keys.push_back(fmt::format("{}={}", name, value.Dump()));
  }
  return fmt::format("[{}]", fmt::join(keys, ","));
}

// The first list below `path` that holds a key twice, as a sentence; nullopt: none does.
std::optional<std::string> DuplicateIn(const Json& schema, const Json& value,
                                       const std::string& path) {
  std::set<std::string> seen;
  for (const Json& item : value.items()) {
    const Json identity = ListItemIdentity(schema, item);
    if (!identity.is_null() && !seen.insert(identity.Dump()).second) {
      return fmt::format("{}: duplicate entries for key {}", path, ShownKey(identity));
    }
    auto inner = DuplicateIn(schema["items"], item, path + ShownKey(identity));
    if (inner) return inner;
  }
  for (const auto& [name, member] : value.members()) {
    const Json* known = schema["properties"].Find(name);
    auto inner = DuplicateIn(known == nullptr ? schema["additionalProperties"] : *known, member,
                             fmt::format("{}.{}", path, name));
    if (inner) return inner;
  }
  return std::nullopt;
}

// An applied configuration must match its type strictly, whatever fieldValidation says. A violation
// is reported as an error of the server, as upstream does.
std::optional<Refusal> CheckTyped(const Kind& kind, const Json& applied) {
  if (kind.schema.is_null()) return std::nullopt;
  Json copy = applied;
  std::optional<std::string> fault = DuplicateIn(kind.schema, applied, "");
  const std::vector<std::string> unknown = Prune(kind.schema, copy);
  if (!unknown.empty()) fault = "." + unknown.front() + ": field not declared in schema";
  if (!fault) return std::nullopt;
  const Json& meta = applied["metadata"];
  return PlainRefusal(500, "",
                      fmt::format("failed to create typed patch object ({}/{}; {}, Kind={}): {}",
                                  meta["namespace"].AsString(), meta["name"].AsString(),
                                  kind.resource.api_version(), kind.resource.kind, *fault));
}

void TakeFrom(std::vector<Owner>& owners, const Owner& except, const FieldSet& fields) {
  for (Owner& owner : owners) {
    if (!owner.IsSame(except)) owner.fields = Difference(std::move(owner.fields), fields);
  }
}

Owner& FindOrAdd(std::vector<Owner>& owners, const Owner& wanted) {
  for (Owner& owner : owners) {
    if (owner.IsSame(wanted)) return owner;
  }
  return owners.emplace_back(wanted);
}

}  // namespace

Outcome<Json> ApplyConfiguration(const ApplyRequest& request, const Json& live,
                                 const Json& applied) {
  if (!applied["metadata"]["managedFields"].items().empty()) {
    return BadRequest("metadata.managedFields must be nil");
  }
  if (auto refusal = CheckTyped(request.kind, applied)) return *refusal;
  const Json& schema = request.kind.schema;
  const Json wanted = Effective(request, applied);
  std::vector<Owner> owners = ReadOwners(live["metadata"]["managedFields"]);
  const Owner self{request.manager,     "Apply", request.kind.resource.api_version(),
                   request.subresource, "",      {}};
  // Fields that are applied with their present value are no change, and so no conflict: they get
  // one more owner.
  Json merged = MergeTyped(schema, live, wanted);
  const Delta delta = Compare(schema, WithoutSystemFields(live), WithoutSystemFields(merged));
  std::vector<Conflict> conflicts;
  FieldSet others;
  for (const Owner& owner : owners) {
    if (owner.IsSame(self)) continue;
    others = Union(std::move(others), owner.fields);
    const FieldSet contested = Intersection(owner.fields, Union(delta.changed, delta.removed));
    if (!contested.empty()) conflicts.push_back({&owner, FieldPaths(contested)});
  }
  if (!conflicts.empty() && !request.force) return ConflictsRefusal(conflicts);
  TakeFrom(owners, self, Union(delta.changed, delta.removed));
  Owner& own = FindOrAdd(owners, self);
  FieldSet fields = FieldsOf(schema, wanted);
  fields.member = false;  // the object itself has no owner, even with an empty configuration
  // Last, on the merged object: removes fields that this manager applied before and no longer
  // names.
  RemoveFields(schema, Difference(own.fields, fields), Union(std::move(others), fields), merged);
  if (own.fields != fields || own.time.empty()) own.time = FormatRfc3339(request.now);
  own.fields = std::move(fields);
  for (const char* field : {"apiVersion", "kind"}) merged[field] = applied[field];
  // A version or uid in the configuration means this very object; the writer checks them.
  for (const auto& [name, value] : applied["metadata"].members()) {
    const bool names_object =
        name == "name" || name == "namespace" || name == "resourceVersion" || name == "uid";
    if (names_object) merged["metadata"][name] = value;
  }
  WriteOwners(owners, merged);
  return merged;
}

void TrackUpdate(const Kind& kind, const std::string& manager, const std::string& subresource,
                 WallTime now, const Json& before, Json& after) {
  std::vector<Owner> owners = ReadOwners(before["metadata"]["managedFields"]);
  const Delta delta = Compare(kind.schema, WithoutSystemFields(before), WithoutSystemFields(after));
  if (!delta.changed.empty() || !delta.removed.empty()) {
    const Owner self{manager, "Update", kind.resource.api_version(), subresource, "", {}};
    TakeFrom(owners, self, Union(delta.changed, delta.removed));
    Owner& own = FindOrAdd(owners, self);
    // Fields that an updater removed have no owner; fields that it set are added to its own.
    own.fields = Union(Difference(std::move(own.fields), delta.removed), delta.changed);
    own.time = FormatRfc3339(now);
  }
  WriteOwners(owners, after);
}

bool IsSameOwnership(const Json& a, const Json& b) {
  const auto without_times = [](Json list) {
    if (!list.is_array()) return list;
    for (Json& entry : list.MutableItems()) entry.Erase("time");
    return list;
  };
  return without_times(a) == without_times(b);
}

}  // namespace galen::api_sim
