#include "api_sim/objects/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace galen::api_sim {
namespace {

using Operator = Requirement::Operator;

std::optional<std::int64_t> ToInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// At commas that are not inside parentheses; an unclosed one makes the last term run to the end,
// and its parser refuses it.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    terms.push_back(Trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  return terms;
}

bool IsLabelKey(std::string_view key) {
  constexpr std::size_t kKeyBytesMax = 317;  // prefix 253, slash, name 63
  return !key.empty() && key.size() <= kKeyBytesMax &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == '/';
         });
}

// "key in (a, b)" and "key notin (a)"; nullopt when it is neither.
std::optional<Requirement> ParseSetTerm(std::string_view term) {
  if (term.empty() || term.back() != ')') return std::nullopt;
  const std::size_t open = term.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view head = Trimmed(term.substr(0, open));
  const std::size_t space = head.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view op = head.substr(space + 1);
  if (op != "in" && op != "notin") return std::nullopt;
  Requirement requirement{std::string(Trimmed(head.substr(0, space))),
                          op == "in" ? Operator::kIn : Operator::kNotIn,
                          {}};
  for (const std::string_view value : SplitTerms(term.substr(open + 1, term.size() - open - 2))) {
    requirement.values.emplace_back(value);
  }
  return requirement;
}

// "key=value", "==", "!=", ">" and "<"; nullopt for anything else.
std::optional<Requirement> ParseComparison(std::string_view term) {
  const std::size_t at = term.find_first_of("=!<>");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  std::string_view sign = term.substr(at, 1);
  if (term.substr(at, 2) == "==" || term.substr(at, 2) == "!=") sign = term.substr(at, 2);
  // "!key" is handled elsewhere: it compares nothing.
  if (sign == "!") return std::nullopt;
  Requirement requirement{std::string(Trimmed(term.substr(0, at))),
                          Operator::kIn,
                          {std::string(Trimmed(term.substr(at + sign.size())))}};
  if (sign == "!=") requirement.op = Operator::kNotIn;
  if (sign == ">") requirement.op = Operator::kGreater;
  if (sign == "<") requirement.op = Operator::kLess;
  return requirement;
}

std::optional<Requirement> ParseLabelTerm(std::string_view term) {
  // Sets first: their values may contain comparison signs.
  if (std::optional<Requirement> set = ParseSetTerm(term)) return set;
  if (std::optional<Requirement> comparison = ParseComparison(term)) return comparison;
  if (!term.empty() && term.front() == '!')
    return Requirement{std::string(Trimmed(term.substr(1))), Operator::kAbsent, {}};
  return Requirement{std::string(term), Operator::kExists, {}};
}

// Empty, or a label value: at most 63 bytes without a slash.
bool IsLabelValue(std::string_view value) {
  constexpr std::size_t kValueBytesMax = 63;
  return value.empty() || (value.size() <= kValueBytesMax && IsLabelKey(value) &&
                           value.find('/') == std::string_view::npos);
}

bool IsWellFormed(const Requirement& requirement) {
  if (!IsLabelKey(requirement.key)) return false;
  for (const std::string& value : requirement.values) {
    if (!IsLabelValue(value)) return false;
  }
  const bool orders = requirement.op == Operator::kGreater || requirement.op == Operator::kLess;
  return !orders || ToInteger(requirement.values.front()).has_value();
}

// The field at a dotted path as text: booleans and numbers are compared by their text, absence by
// "".
std::string FieldText(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (true) {
    const std::size_t dot = path.find('.');
    at = &(*at)[path.substr(0, dot)];
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  if (at->is_string()) return at->AsString();
  return at->is_null() ? "" : at->Dump();
}

std::string TextOf(const Json& object, const std::string& field) {
  // An Event names its reporter in one of two places.
  if (field == "source") return FieldText(object, "source.component");
  const std::string text = FieldText(object, field);
  // Fields that are booleans in Go have no absent state.
  const bool flag = field == "spec.unschedulable" || field == "spec.hostNetwork";
  return flag && text.empty() ? "false" : text;
}

}  // namespace

bool Requirement::Holds(const std::string* value) const {
  const bool listed =
      value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  switch (op) {
    case Operator::kExists:
      return value != nullptr;
    case Operator::kAbsent:
      return value == nullptr;
    case Operator::kIn:
      return listed;
    case Operator::kNotIn:
      return !listed;
    case Operator::kGreater:
    case Operator::kLess: {
      const std::optional<std::int64_t> left = value ? ToInteger(*value) : std::nullopt;
      const std::optional<std::int64_t> right = ToInteger(values.front());
      if (!left || !right) return false;
      return op == Operator::kGreater ? *left > *right : *left < *right;
    }
  }
  GALEN_UNREACHABLE();
}

Outcome<std::vector<Requirement>> ParseLabelSelector(std::string_view text) {
  std::vector<Requirement> requirements;
  if (Trimmed(text).empty()) return requirements;
  for (const std::string_view term : SplitTerms(text)) {
    std::optional<Requirement> requirement = ParseLabelTerm(term);
    if (!requirement || !IsWellFormed(*requirement)) {
      return BadRequest(
          fmt::format("unable to parse requirement: \"{}\" in label selector \"{}\"", term, text));
    }
    requirements.push_back(*std::move(requirement));
  }
  return requirements;
}

Outcome<std::vector<Requirement>> ParseFieldSelector(std::string_view text) {
  std::vector<Requirement> requirements;
  if (Trimmed(text).empty()) return requirements;
  for (const std::string_view term : SplitTerms(text)) {
    if (term.empty()) continue;
    std::optional<Requirement> requirement = ParseComparison(term);
    if (!requirement || requirement->op == Operator::kGreater ||
        requirement->op == Operator::kLess) {
      return BadRequest(fmt::format(
          "invalid field selector \"{}\": \"{}\" is not field=value or field!=value", text, term));
    }
    requirements.push_back(*std::move(requirement));
  }
  return requirements;
}

bool Selection::Matches(const Json& object) const {
  const Json& own = object["metadata"]["labels"];
  const bool labelled = std::all_of(labels.begin(), labels.end(), [&own](const Requirement& r) {
    const Json* value = own.Find(r.key);
    return r.Holds(value == nullptr ? nullptr : &value->AsString());
  });
  return labelled && std::all_of(fields.begin(), fields.end(), [&object](const Requirement& r) {
           const std::string value = TextOf(object, r.key);
           return r.Holds(&value);
         });
}

Outcome<Selection> ReadSelection(const ApiRequest& request, const Kind& kind) {
  ASSIGN_OR_RETURN(std::vector<Requirement> labels,
                   ParseLabelSelector(request.Param("labelSelector")));
  ASSIGN_OR_RETURN(std::vector<Requirement> fields,
                   ParseFieldSelector(request.Param("fieldSelector")));
  for (const Requirement& field : fields) {
    const std::vector<std::string>& own = kind.selectable_fields;
    const bool known = field.key == "metadata.name" || field.key == "metadata.namespace" ||
                       std::find(own.begin(), own.end(), field.key) != own.end();
    if (!known) {
      return BadRequest(fmt::format(
          "Unable to find \"{}, Resource={}\" that match label selector \"{}\", field selector "
          "\"{}\": field label not supported: {}",
          kind.resource.api_version(), kind.resource.plural, request.Param("labelSelector"),
          request.Param("fieldSelector"), field.key));
    }
  }
  return Selection{std::move(labels), std::move(fields)};
}

}  // namespace galen::api_sim
