#include "api_sim/patch/field_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace galen::api_sim {
namespace {

std::string StepText(const std::string& step) {
  // Steps come from ours or from FromFieldsV1, which lets no shorter ones in.
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
  // An object without steps is a member itself; the root of an empty set reads as one too, which
  // callers drop.
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

}  // namespace galen::api_sim
