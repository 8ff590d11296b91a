#include "doctor/image_compatibility.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/data/yaml.h"
#include "base/text.h"
#include "doctor/expectations.h"

namespace galen::doctor {
namespace {

constexpr std::string_view kVersion1 = "v1alpha1";
// Operators of NFD's match expressions that are evaluated here; InRegexp and others are not.
constexpr std::array<std::string_view, 9> kOperators = {
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "GtLt", "IsTrue", "IsFalse"};

std::string TextOf(const Json& value) {
  return value.AsString().empty() && !value.is_null() ? value.Dump() : value.AsString();
}

Status CheckTerms(const Json& rule) {
  RETURN_IF_ERROR(CheckList(rule, "matchFeatures"));
  for (const Json& matcher : rule["matchFeatures"].items()) {
    for (const auto& [element, expression] : matcher["matchExpressions"].members()) {
      RETURN_IF_ERROR(CheckList(expression, "value"));
    }
  }
  return OkStatus();
}

Status CheckRule(const Json& rule) {
  RETURN_IF_ERROR(CheckTerms(rule));
  RETURN_IF_ERROR(CheckList(rule, "matchAny"));
  for (const Json& any : rule["matchAny"].items()) RETURN_IF_ERROR(CheckTerms(any));
  return OkStatus();
}

FeatureTerm ReadTerm(const Json& matcher) {
  FeatureTerm term{.feature = matcher["feature"].AsString(), .by_name = matcher.Has("matchName")};
  for (const auto& [element, expression] : matcher["matchExpressions"].members()) {
    FeatureExpression read{.element = element, .op = expression["op"].AsString()};
    for (const Json& value : expression["value"].items()) read.values.push_back(TextOf(value));
    term.expressions.push_back(std::move(read));
  }
  return term;
}

std::vector<FeatureTerm> ReadTerms(const Json& rule) {
  std::vector<FeatureTerm> terms;
  for (const Json& matcher : rule["matchFeatures"].items()) terms.push_back(ReadTerm(matcher));
  return terms;
}

std::optional<std::int64_t> NumberOf(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

Fit FitOf(bool matches) { return matches ? Fit::kYes : Fit::kNo; }

// Gt, Lt and GtLt; unknown where NFD itself would report an error.
Fit CompareNumbers(const FeatureExpression& expression, const std::string& value) {
  const std::optional<std::int64_t> left = NumberOf(value);
  std::vector<std::int64_t> right;
  for (const std::string& text : expression.values) {
    if (const auto number = NumberOf(text)) right.push_back(*number);
  }
  const std::size_t wanted = expression.op == "GtLt" ? 2 : 1;
  if (!left || right.size() != wanted) return Fit::kUnknown;
  if (expression.op == "Gt") return FitOf(*left > right[0]);
  if (expression.op == "Lt") return FitOf(*left < right[0]);
  return FitOf(*left > right[0] && *left < right[1]);
}

// `value` is the element's value; nullopt: the feature is known and lacks it.
Fit Evaluate(const FeatureExpression& expression, const std::optional<std::string>& value) {
  const std::string& op = expression.op;
  if (std::ranges::find(kOperators, op) == kOperators.end()) return Fit::kUnknown;
  if (op == "Exists") return FitOf(value.has_value());
  if (op == "DoesNotExist") return FitOf(!value.has_value());
  // Every other operator needs a value: for NFD a missing one does not match, even with NotIn.
  if (!value) return Fit::kNo;
  const bool listed = std::ranges::find(expression.values, *value) != expression.values.end();
  if (op == "In") return FitOf(listed);
  if (op == "NotIn") return FitOf(!listed);
  if (op == "IsTrue") return FitOf(*value == "true");
  if (op == "IsFalse") return FitOf(*value == "false");
  return CompareNumbers(expression, *value);
}

// "cpu.cpuid" and "AVX2" are feature.node.kubernetes.io/cpu-cpuid.AVX2.
std::string LabelOf(const std::string& feature, const std::string& element) {
  std::string name = feature;
  if (const std::size_t dot = name.find('.'); dot != std::string::npos) name[dot] = '-';
  return "feature.node.kubernetes.io/" + name + "." + element;
}

Fit ByLabel(const std::string& feature, const FeatureExpression& expression,
            const NodeFeatures& node) {
  const auto label = node.labels.find(LabelOf(feature, expression.element));
  if (label == node.labels.end()) return Fit::kUnknown;
  return Evaluate(expression, label->second);
}

std::optional<std::string> Find(const std::map<std::string, std::string>& values,
                                const std::string& element) {
  const auto found = values.find(element);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

// All expressions have to hold for one and the same device.
Fit FitOfInstances(const FeatureTerm& term,
                   const std::vector<std::map<std::string, std::string>>& instances) {
  Fit any = Fit::kNo;
  for (const std::map<std::string, std::string>& instance : instances) {
    Fit all = Fit::kYes;
    for (const FeatureExpression& expression : term.expressions) {
      const std::optional<std::string> value = Find(instance, expression.element);
      // NFD reads more of a device than is read here.
      all = std::min(all, value ? Evaluate(expression, value) : Fit::kUnknown);
    }
    any = std::max(any, all);
  }
  return any;
}

Fit FitOf(const FeatureTerm& term, const NodeFeatures& node) {
  if (term.by_name || term.expressions.empty()) return Fit::kUnknown;
  if (const auto found = node.instances.find(term.feature); found != node.instances.end()) {
    return FitOfInstances(term, found->second);
  }
  const auto attributes = node.attributes.find(term.feature);
  const auto flags = node.flags.find(term.feature);
  Fit all = Fit::kYes;
  for (const FeatureExpression& expression : term.expressions) {
    Fit one = Fit::kUnknown;
    if (attributes != node.attributes.end()) {
      one = Evaluate(expression, Find(attributes->second, expression.element));
    } else if (flags != node.flags.end()) {
      // A flag has no value: an expression can only ask whether it exists.
      const bool there = flags->second.contains(expression.element);
      one = Evaluate(expression, there ? std::optional<std::string>("") : std::nullopt);
    } else {
      one = ByLabel(term.feature, expression, node);
    }
    all = std::min(all, one);
  }
  return all;
}

Fit FitOf(const std::vector<FeatureTerm>& terms, const NodeFeatures& node) {
  Fit all = Fit::kYes;
  for (const FeatureTerm& term : terms) all = std::min(all, FitOf(term, node));
  return all;
}

Fit FitOf(const FeatureRule& rule, const NodeFeatures& node) {
  if (rule.terms.empty() && rule.any.empty()) return Fit::kUnknown;
  const Fit all = FitOf(rule.terms, node);
  if (rule.any.empty()) return all;
  Fit any = Fit::kNo;
  for (const std::vector<FeatureTerm>& terms : rule.any) any = std::max(any, FitOf(terms, node));
  return std::min(all, any);
}

}  // namespace

StatusOr<std::vector<CompatibilitySet>> ReadCompatibility(std::string_view text) {
  if (text.size() > kCompatibilityBytesMax) {
    return InvalidArgument("is larger than {} bytes", kCompatibilityBytesMax);
  }
  ASSIGN_OR_RETURN(const Json document, ParseYaml(text));
  if (document["version"].AsString() != kVersion1) {
    return InvalidArgument("has version '{}', not {}", Shown(document["version"].AsString()),
                           kVersion1);
  }
  std::vector<CompatibilitySet> sets;
  for (const Json& item : document["compatibilities"].items()) {
    CompatibilitySet set{.description = item["description"].AsString()};
    for (const Json& rule : item["rules"].items()) {
      if (const Status checked = CheckRule(rule); !checked.ok()) {
        return Annotate(checked, "rule '{}'", Shown(rule["name"].AsString()));
      }
      FeatureRule read{.name = rule["name"].AsString(), .terms = ReadTerms(rule)};
      for (const Json& any : rule["matchAny"].items()) read.any.push_back(ReadTerms(any));
      set.rules.push_back(std::move(read));
    }
    if (set.rules.empty()) return InvalidArgument("has a set without rules");
    sets.push_back(std::move(set));
  }
  if (sets.empty()) return InvalidArgument("has no compatibilities");
  return sets;
}

Fitting FitOf(const CompatibilitySet& set, const NodeFeatures& node) {
  Fitting fitting{.fit = Fit::kYes};
  for (const FeatureRule& rule : set.rules) {
    const Fit fit = FitOf(rule, node);
    if (fit >= fitting.fit) continue;
    fitting = {fit, rule.name};
  }
  return fitting;
}

}  // namespace galen::doctor
