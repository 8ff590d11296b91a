// Selects the objects of a list or watch: label and field selectors. Values; free of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api_sim/objects/api_request.h"
#include "api_sim/objects/kinds.h"

namespace galen::api_sim {

// One condition on a label or a field. `values` is empty for kExists and kAbsent, one value for the
// comparisons and for "=" and "!=", any number for "in" and "notin".
struct Requirement {
  // How the value is compared.
  enum class Operator { kExists, kAbsent, kIn, kNotIn, kGreater, kLess };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;

  // `value` is null when there is no such label: kNotIn and kAbsent hold then, the others do not.
  // kGreater and kLess compare integers, and never hold for other texts.
  bool Holds(const std::string* value) const;
  bool operator==(const Requirement&) const = default;
};

// Kubernetes' label selectors: "app=train,tier in (a,b),!old,gen>3". "" selects everything. 400
// when it is invalid.
Outcome<std::vector<Requirement>> ParseLabelSelector(std::string_view text);
// "spec.nodeName=node-7,status.phase!=Failed": equality only. "" selects everything; 400 otherwise.
Outcome<std::vector<Requirement>> ParseFieldSelector(std::string_view text);

// All requirements at once; none: everything matches.
struct Selection {
  std::vector<Requirement> labels;
  std::vector<Requirement> fields;

  bool empty() const { return labels.empty() && fields.empty(); }
  bool Matches(const Json& object) const;
};

// From ?labelSelector= and ?fieldSelector=; 400 for a field that the kind cannot be selected by
// (Kind::selectable_fields, and name and namespace of every kind).
Outcome<Selection> ReadSelection(const ApiRequest& request, const Kind& kind);

}  // namespace galen::api_sim
