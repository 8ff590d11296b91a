// Which objects a list or watch is about: label and field selectors. Values; free of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster_sim/api_request.h"
#include "cluster_sim/kinds.h"

namespace galen::cluster_sim {

// One condition on a label or a field.
struct Requirement {
  enum class Operator { kExists, kAbsent, kIn, kNotIn, kGreater, kLess };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;

  // `value` is null when there is no such label.
  bool Holds(const std::string* value) const;
  bool operator==(const Requirement&) const = default;
};

// "app=train,tier in (a,b),!old,gen>3". Refusal 400 when it makes no sense.
Outcome<std::vector<Requirement>> ParseLabelSelector(std::string_view text);
// "spec.nodeName=node-7,status.phase!=Failed".
Outcome<std::vector<Requirement>> ParseFieldSelector(std::string_view text);

// All requirements at once.
struct Selection {
  std::vector<Requirement> labels;
  std::vector<Requirement> fields;

  bool empty() const { return labels.empty() && fields.empty(); }
  bool Matches(const Json& object) const;
};

// From ?labelSelector= and ?fieldSelector=; 400 for a field that the kind cannot be selected by.
Outcome<Selection> ReadSelection(const ApiRequest& request, const Kind& kind);

}  // namespace galen::cluster_sim
