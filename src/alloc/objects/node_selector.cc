#include "alloc/objects/node_selector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace galen::alloc {
namespace {

using NodeOperator = NodeRequirement::Operator;

constexpr std::string_view kNodeNameField = "metadata.name";
constexpr std::array<std::pair<NodeOperator, std::string_view>, 6> kOperators = {{
    {NodeOperator::kIn, "In"},
    {NodeOperator::kNotIn, "NotIn"},
    {NodeOperator::kExists, "Exists"},
    {NodeOperator::kDoesNotExist, "DoesNotExist"},
    {NodeOperator::kGreater, "Gt"},
    {NodeOperator::kLess, "Lt"},
}};

NodeOperator ParseOperator(std::string_view text) {
  for (const auto& [op, name] : kOperators) {
    if (name == text) return op;
  }
  return NodeOperator::kUnknown;
}

std::string_view OperatorName(NodeOperator op) {
  for (const auto& [known, name] : kOperators) {
    if (known == op) return name;
  }
  return "";
}

std::optional<std::int64_t> ToInteger(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<NodeRequirement> ReadRequirements(const Json& list) {
  std::vector<NodeRequirement> requirements;
  for (const Json& item : list.items()) {
    NodeRequirement requirement{.key = item["key"].AsString(),
                                .op = ParseOperator(item["operator"].AsString())};
    for (const Json& value : item["values"].items()) requirement.values.push_back(value.AsString());
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

Json WriteRequirements(const std::vector<NodeRequirement>& requirements) {
  Json::Array list;
  for (const NodeRequirement& requirement : requirements) {
    Json item = Json::MakeObject(
        {{"key", requirement.key}, {"operator", std::string(OperatorName(requirement.op))}});
    for (const std::string& value : requirement.values) item["values"].Append(value);
    list.push_back(std::move(item));
  }
  return list;
}

bool AllIntegers(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const std::string& value) { return ToInteger(value).has_value(); });
}

Status CheckLabelRequirement(const NodeRequirement& requirement) {
  const std::size_t count = requirement.values.size();
  switch (requirement.op) {
    case NodeOperator::kIn:
    case NodeOperator::kNotIn:
      if (count > 0) return OkStatus();
      return InvalidArgument("node selector of label {} has no values; give one at least",
                             requirement.key);
    case NodeOperator::kExists:
    case NodeOperator::kDoesNotExist:
      if (count == 0) return OkStatus();
      return InvalidArgument("node selector of label {} has values, but its operator takes none",
                             requirement.key);
    case NodeOperator::kGreater:
    case NodeOperator::kLess:
      if (count == 1 && AllIntegers(requirement.values)) return OkStatus();
      return InvalidArgument("node selector of label {} compares numbers; give it one integer",
                             requirement.key);
    case NodeOperator::kUnknown:
      break;
  }
  return InvalidArgument("node selector of label {} has an operator that is not known",
                         requirement.key);
}

Status CheckFieldRequirement(const NodeRequirement& requirement) {
  const bool known = requirement.op == NodeOperator::kIn || requirement.op == NodeOperator::kNotIn;
  if (known && requirement.values.size() == 1) return OkStatus();
  return InvalidArgument("node selector of field {} must be In or NotIn with one value",
                         requirement.key);
}

bool Compares(const NodeRequirement& requirement, std::string_view value) {
  const auto number = ToInteger(value);
  const auto bound = ToInteger(requirement.values.front());
  if (!number || !bound) return false;
  return requirement.op == NodeOperator::kGreater ? *number > *bound : *number < *bound;
}

// `value` is null when the node has no such label or field.
bool Holds(const NodeRequirement& requirement, const std::string* value) {
  const auto& values = requirement.values;
  const auto listed = [&] {
    return std::find(values.begin(), values.end(), *value) != values.end();
  };
  switch (requirement.op) {
    case NodeOperator::kIn:
      return value != nullptr && listed();
    case NodeOperator::kNotIn:
      return value == nullptr || !listed();
    case NodeOperator::kExists:
      return value != nullptr;
    case NodeOperator::kDoesNotExist:
      return value == nullptr;
    case NodeOperator::kGreater:
    case NodeOperator::kLess:
      return value != nullptr && Compares(requirement, *value);
    case NodeOperator::kUnknown:
      return false;
  }
  return false;
}

bool TermMatches(const NodeSelectorTerm& term, const Node& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const NodeRequirement& requirement : term.expressions) {
    const auto label = node.labels.find(requirement.key);
    if (!Holds(requirement, label == node.labels.end() ? nullptr : &label->second)) return false;
  }
  // An unknown field is absent: In does not hold for it, NotIn does.
  return std::all_of(term.fields.begin(), term.fields.end(), [&node](const auto& requirement) {
    return Holds(requirement, requirement.key == kNodeNameField ? &node.name : nullptr);
  });
}

}  // namespace

Node ReadNode(const Json& object) {
  const Json& metadata = object["metadata"];
  Node node{.name = metadata["name"].AsString()};
  for (const auto& [key, value] : metadata["labels"].members())
    node.labels.emplace(key, value.AsString());
  for (const Json& feature : object["status"]["declaredFeatures"].items())
    node.declared_features.push_back(feature.AsString());
  return node;
}

NodeSelector ReadNodeSelector(const Json& object) {
  NodeSelector selector;
  for (const Json& term : object["nodeSelectorTerms"].items()) {
    selector.terms.push_back({.expressions = ReadRequirements(term["matchExpressions"]),
                              .fields = ReadRequirements(term["matchFields"])});
  }
  return selector;
}

Json WriteNodeSelector(const NodeSelector& selector) {
  Json::Array terms;
  for (const NodeSelectorTerm& term : selector.terms) {
    Json item = Json::Object();
    if (!term.expressions.empty()) item["matchExpressions"] = WriteRequirements(term.expressions);
    if (!term.fields.empty()) item["matchFields"] = WriteRequirements(term.fields);
    terms.push_back(std::move(item));
  }
  return Json::MakeObject({{"nodeSelectorTerms", std::move(terms)}});
}

NodeSelector SelectorOfNode(std::string_view name) {
  NodeSelectorTerm term;
  term.fields.push_back(
      {.key = std::string(kNodeNameField), .op = NodeOperator::kIn, .values = {std::string(name)}});
  return {.terms = {std::move(term)}};
}

Status Validate(const NodeSelector& selector) {
  for (const NodeSelectorTerm& term : selector.terms) {
    for (const NodeRequirement& requirement : term.expressions)
      RETURN_IF_ERROR(CheckLabelRequirement(requirement));
    for (const NodeRequirement& requirement : term.fields)
      RETURN_IF_ERROR(CheckFieldRequirement(requirement));
  }
  return OkStatus();
}

bool Matches(const NodeSelector& selector, const Node& node) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&node](const NodeSelectorTerm& term) { return TermMatches(term, node); });
}

}  // namespace galen::alloc
