#include "cluster_sim/allocation/node_selector.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace galen::cluster_sim {
namespace {

std::optional<long long> ToInteger(const std::string& text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Label values are texts; Gt and Lt read both sides as integers and hold for no other values.
bool Compares(const Json& values, const Json& actual, bool greater) {
  const auto bound = ToInteger(values[std::size_t{0}].AsString());
  const auto value = ToInteger(actual.AsString());
  if (!bound || !value) return false;
  return greater ? *value > *bound : *value < *bound;
}

// `actual` is null when the node has no such label or field.
bool MatchesRequirement(const Json& requirement, const Json& actual) {
  const std::string& op = requirement["operator"].AsString();
  const auto& values = requirement["values"].items();
  const bool listed = std::find(values.begin(), values.end(), actual) != values.end();
  if (op == "In") return !actual.is_null() && listed;
  // NotIn also matches a node without the label.
  if (op == "NotIn") return actual.is_null() || !listed;
  if (op == "Exists") return !actual.is_null();
  if (op == "DoesNotExist") return actual.is_null();
  if (op == "Gt" || op == "Lt") return Compares(requirement["values"], actual, op == "Gt");
  return false;
}

bool MatchesTerm(const Json& term, const Json& node) {
  const auto& expressions = term["matchExpressions"].items();
  const auto& fields = term["matchFields"].items();
  if (expressions.empty() && fields.empty()) return false;
  for (const Json& requirement : expressions) {
    const Json& label = node["metadata"]["labels"][requirement["key"].AsString()];
    if (!MatchesRequirement(requirement, label)) return false;
  }
  for (const Json& requirement : fields) {
    if (requirement["key"].AsString() != "metadata.name") return false;
    if (!MatchesRequirement(requirement, node["metadata"]["name"])) return false;
  }
  return true;
}

}  // namespace

bool MatchesNodeSelector(const Json& selector, const Json& node) {
  const auto& terms = selector["nodeSelectorTerms"].items();
  return std::any_of(terms.begin(), terms.end(),
                     [&node](const Json& term) { return MatchesTerm(term, node); });
}

bool HasLabels(const Json& labels, const Json& node) {
  const auto& wanted = labels.members();
  return std::all_of(wanted.begin(), wanted.end(), [&node](const auto& label) {
    return node["metadata"]["labels"][label.first] == label.second;
  });
}

}  // namespace galen::cluster_sim
