#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <set>
#include <unordered_map>

#include "api_sim/objects/schema.h"
#include "api_sim/patch/managed_fields.h"

namespace galen::api_sim {
namespace {

std::string StepText(const std::string& step) {
  // Steps are our own or come from FromFieldsV1, which refuses shorter ones.
  const std::string rest = step.substr(2);
  if (step[0] == 'f') return "." + rest;
  if (step[0] == 'v') return fmt::format("[={}]", rest);
  const StatusOr<Json> keys = Json::Parse(rest);
  std::vector<std::string> pairs;
  if (keys.ok()) {
    for (const auto& [key, value] : keys->members()) pairs.push_back(key + "=" + value.Dump());
  }
  return fmt::format("[{}]", fmt::join(pairs, ","));
}

void AddPaths(const FieldSet& set, const std::string& path, std::vector<std::string>& out) {
  if (set.member) out.push_back(path);
  for (const auto& [step, child] : set.children) AddPaths(child, path + StepText(step), out);
}

// kLeaf is any value that is replaced as a whole, an atomic object or list included.
enum class ListShape { kLeaf, kMap, kKeyedList, kSet };

// How a value merges. Without a schema an object merges by its members, and a list as a whole.
ListShape ShapeOf(const Json& schema, const Json& value) {
  if (value.is_object()) {
    return schema["x-kubernetes-map-type"].AsString() == "atomic" ? ListShape::kLeaf
                                                                  : ListShape::kMap;
  }
  if (!value.is_array()) return ListShape::kLeaf;
  const std::string& type = schema["x-kubernetes-list-type"].AsString();
  if (type == "map") return ListShape::kKeyedList;
  return type == "set" ? ListShape::kSet : ListShape::kLeaf;
}

const Json& MemberSchema(const Json& schema, const std::string& name) {
  const Json* known = schema["properties"].Find(name);
  return known != nullptr ? *known : schema["additionalProperties"];
}

// The step that leads to a list item.
std::string StepOf(const Json& schema, ListShape shape, const Json& item) {
  return shape == ListShape::kSet ? "v:" + item.Dump()
                                  : "k:" + ListItemIdentity(schema, item).Dump();
}

void Put(FieldSet& set, const std::string& step, FieldSet child) {
  if (child.empty()) return;
  FieldSet& own = set.children[step];
  own = Union(std::move(own), child);
}

// Where each step's item is in its list; of equal ones the first. A list may have hundreds of
// items, and making a step costs as much as comparing two of them.
using ItemIndex = std::unordered_map<std::string, std::size_t>;

ItemIndex IndexOf(const Json& schema, ListShape shape, const Json& list) {
  ItemIndex index;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    index.try_emplace(StepOf(schema, shape, list.items()[i]), i);
  }
  return index;
}

void Add(Delta& delta, const std::string& step, Delta inner) {
  Put(delta.changed, step, std::move(inner.changed));
  Put(delta.removed, step, std::move(inner.removed));
}

// A list item counts as a field itself; so does the entry of a map whose key is data rather than
// part of the type.
FieldSet FieldsOfItem(const Json& schema, const Json& value) {
  FieldSet fields = FieldsOf(schema, value);
  fields.member = true;
  return fields;
}

Delta CompareMaps(const Json& schema, const Json& before, const Json& after) {
  Delta delta;
  std::set<std::string> names;
  for (const auto& [name, value] : before.members()) names.insert(name);
  for (const auto& [name, value] : after.members()) names.insert(name);
  for (const std::string& name : names) {
    const Json& inner = MemberSchema(schema, name);
    const bool is_data = !schema["properties"].Has(name);
    const Json* old = before.Find(name);
    const Json* now = after.Find(name);
    const auto fields_of = [&](const Json& value) {
      return is_data ? FieldsOfItem(inner, value) : FieldsOf(inner, value);
    };
    Add(delta, "f:" + name,
        old == nullptr   ? Delta{fields_of(*now), {}}
        : now == nullptr ? Delta{{}, fields_of(*old)}
                         : Compare(inner, *old, *now));
  }
  return delta;
}

Delta CompareLists(const Json& schema, ListShape shape, const Json& before, const Json& after) {
  Delta delta;
  const ItemIndex old = IndexOf(schema, shape, before), now = IndexOf(schema, shape, after);
  for (const auto& [step, at] : now) {
    const Json& item = after.items()[at];
    const auto same = old.find(step);
    Add(delta, step,
        same == old.end() ? Delta{FieldsOfItem(schema["items"], item), {}}
                          : Compare(schema["items"], before.items()[same->second], item));
  }
  for (const auto& [step, at] : old) {
    if (now.contains(step)) continue;
    Add(delta, step, {{}, FieldsOfItem(schema["items"], before.items()[at])});
  }
  return delta;
}

// Items keep the place they have in `live`.
Json MergeLists(const Json& schema, ListShape shape, const Json& live, const Json& applied) {
  Json merged = live;
  ItemIndex own = IndexOf(schema, shape, live);
  for (const Json& item : applied.items()) {
    const auto [same, is_new] = own.try_emplace(StepOf(schema, shape, item), merged.items().size());
    if (is_new) {
      merged.Append(item);
      continue;
    }
    Json& present = merged.MutableItems()[same->second];
    present = MergeTyped(schema["items"], present, item);
  }
  return merged;
}

const FieldSet& ChildOf(const FieldSet& set, const std::string& step) {
  static const FieldSet kNothing;
  const auto it = set.children.find(step);
  return it == set.children.end() ? kNothing : it->second;
}

// Whether the value is removed as a whole; otherwise only fields inside it are.
bool GoesWhole(const Json& schema, const FieldSet& gone, const FieldSet& kept, Json& value) {
  if (gone.empty()) return false;
  // No other manager owns it or anything below it.
  if (kept.empty() && gone.member) return true;
  const auto is_empty = [&value] { return value.members().empty() && value.items().empty(); };
  if ((!value.is_object() && !value.is_array()) || is_empty()) return false;
  RemoveFields(schema, gone, kept, value);
  return kept.empty() && is_empty();
}

}  // namespace

FieldSet Union(FieldSet a, const FieldSet& b) {
  a.member = a.member || b.member;
  for (const auto& [step, child] : b.children) {
    FieldSet& own = a.children[step];
    own = Union(std::move(own), child);
  }
  return a;
}

FieldSet Difference(FieldSet a, const FieldSet& b) {
  a.member = a.member && !b.member;
  for (const auto& [step, child] : b.children) {
    const auto own = a.children.find(step);
    if (own == a.children.end()) continue;
    own->second = Difference(std::move(own->second), child);
    if (own->second.empty()) a.children.erase(own);
  }
  return a;
}

FieldSet Intersection(const FieldSet& a, const FieldSet& b) {
  FieldSet both{a.member && b.member, {}};
  for (const auto& [step, child] : a.children) {
    const auto other = b.children.find(step);
    if (other == b.children.end()) continue;
    FieldSet inner = Intersection(child, other->second);
    if (!inner.empty()) both.children.emplace(step, std::move(inner));
  }
  return both;
}

Json ToFieldsV1(const FieldSet& set) {
  Json fields = Json::MakeObject({});
  if (set.member && !set.children.empty()) fields["."] = Json::MakeObject({});
  for (const auto& [step, child] : set.children) fields[step] = ToFieldsV1(child);
  return fields;
}

FieldSet FromFieldsV1(const Json& fields) {
  // An object without steps is a member itself; so is the root of an empty set, which callers drop.
  FieldSet set{fields.members().empty(), {}};
  for (const auto& [step, child] : fields.members()) {
    if (step == ".") {
      set.member = true;
    } else if (step.size() > 2 && step[1] == ':') {
      set.children.emplace(step, FromFieldsV1(child));
    }
  }
  return set;
}

std::vector<std::string> FieldPaths(const FieldSet& set) {
  std::vector<std::string> paths;
  AddPaths(set, "", paths);
  return paths;
}

FieldSet FieldsOf(const Json& schema, const Json& value) {
  FieldSet set;
  const ListShape shape = ShapeOf(schema, value);
  switch (shape) {
    case ListShape::kLeaf:
      set.member = true;
      break;
    case ListShape::kMap:
      set.member = value.members().empty();
      for (const auto& [name, member] : value.members()) {
        FieldSet child = FieldsOf(MemberSchema(schema, name), member);
        // See FieldsOfItem: an entry of a map of data is owned as such.
        child.member = child.member || !schema["properties"].Has(name);
        Put(set, "f:" + name, std::move(child));
      }
      break;
    case ListShape::kKeyedList:
    case ListShape::kSet:
      set.member = value.items().empty();
      for (const Json& item : value.items()) {
        FieldSet child = FieldsOf(schema["items"], item);
        child.member = true;
        Put(set, StepOf(schema, shape, item), std::move(child));
      }
      break;
  }
  return set;
}

Delta Compare(const Json& schema, const Json& before, const Json& after) {
  if (before == after) return {};
  const ListShape shape = ShapeOf(schema, before);
  if (shape != ShapeOf(schema, after)) return {FieldsOf(schema, after), FieldsOf(schema, before)};
  switch (shape) {
    case ListShape::kLeaf:
      return {FieldsOf(schema, after), {}};
    case ListShape::kMap:
      return CompareMaps(schema, before, after);
    case ListShape::kKeyedList:
    case ListShape::kSet:
      return CompareLists(schema, shape, before, after);
  }
  GALEN_UNREACHABLE();
}

Json MergeTyped(const Json& schema, const Json& live, const Json& applied) {
  const ListShape shape = ShapeOf(schema, applied);
  if (shape == ListShape::kLeaf || ShapeOf(schema, live) != shape) return applied;
  if (shape != ListShape::kMap) return MergeLists(schema, shape, live, applied);
  Json merged = live;
  for (const auto& [name, value] : applied.members()) {
    const Json* own = live.Find(name);
    merged[name] = own == nullptr ? value : MergeTyped(MemberSchema(schema, name), *own, value);
  }
  return merged;
}

void RemoveFields(const Json& schema, const FieldSet& gone, const FieldSet& kept, Json& value) {
  const ListShape shape = ShapeOf(schema, value);
  if (shape == ListShape::kMap) {
    Json::Object& members = value.MutableMembers();
    for (auto member = members.begin(); member != members.end();) {
      const std::string step = "f:" + member->first;
      const bool goes = GoesWhole(MemberSchema(schema, member->first), ChildOf(gone, step),
                                  ChildOf(kept, step), member->second);
      member = goes ? members.erase(member) : std::next(member);
    }
  }
  if (shape == ListShape::kKeyedList || shape == ListShape::kSet) {
    Json::Array& items = value.MutableItems();
    for (auto item = items.begin(); item != items.end();) {
      const std::string step = StepOf(schema, shape, *item);
      const bool goes = GoesWhole(schema["items"], ChildOf(gone, step), ChildOf(kept, step), *item);
      item = goes ? items.erase(item) : std::next(item);
    }
  }
}

}  // namespace galen::api_sim
