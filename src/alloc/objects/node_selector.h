// Which nodes can use a slice or a device: core/v1 NodeSelector, and the Node as far as one reads
// it. Values and pure functions. The rules are those of component-helpers' nodeaffinity package.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"

namespace galen::alloc {

// A v1 Node as far as a selector reads it.
struct Node {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  // status.declaredFeatures: what the kubelet says that it can.
  std::vector<std::string> declared_features = {};

  bool operator==(const Node&) const = default;
};
// From a v1 Node; what else it has is not read.
Node ReadNode(const Json& object);

// What a label or a field of the node must be.
struct NodeRequirement {
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kGreater, kLess, kUnknown };

  std::string key;
  Operator op = Operator::kUnknown;
  std::vector<std::string> values;

  bool operator==(const NodeRequirement&) const = default;
};

// All requirements must hold; a term without any matches nothing.
struct NodeSelectorTerm {
  std::vector<NodeRequirement> expressions;  // of labels
  std::vector<NodeRequirement> fields;       // of metadata.name

  bool operator==(const NodeSelectorTerm&) const = default;
};

// One of the terms must match.
struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;

  bool operator==(const NodeSelector&) const = default;
};

NodeSelector ReadNodeSelector(const Json& object);
Json WriteNodeSelector(const NodeSelector& selector);
// The selector that matches the node of this name alone.
NodeSelector SelectorOfNode(std::string_view name);

// InvalidArgument for what Kubernetes does not evaluate, with the requirement: an unknown operator,
// too many or too few values, values of Gt and Lt that are no integers.
Status Validate(const NodeSelector& selector);
// REQUIRES: Validate(selector) is OK.
bool Matches(const NodeSelector& selector, const Node& node);

}  // namespace galen::alloc
