// How a row of a rules file is read: its fields by name and type, with every fault reported. For
// the readers of this room only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/data/json.h"
#include "base/text.h"
#include "base/time.h"
#include "probes/rule_fields.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// YAML makes numbers of texts like 79; a rule that is named or compared by one means the text.
inline std::string FieldText(const Json& value) {
  if (value.is_int()) return fmt::format("{}", value.AsInt());
  if (value.is_double()) return NumberText(value.AsDouble());
  return value.AsString();
}

// Reads one row: gives its fields by name and type, and reports what is wrong with each to
// `faults`. Used within one reading of a table; no I/O, no clock. What it is given is lent.
class RuleRow {
 public:
  RuleRow(RowKind kind, const Json& row, const Json& defaults, RuleFaults& faults)
      : kind_(kind), row_(row), defaults_(defaults), faults_(faults) {}

  // The defaults of its sign are not known, so that nothing is missing for certain.
  void MayHaveDefaults() { may_have_defaults_ = true; }

  // Reports that `field` cannot be read, and why. Later faults of that field are then left out:
  // they would only be consequences.
  void Fault(std::string_view field, const std::string& what) { faults_.AddUnread(field, what); }
  bool Unread(std::string_view field) const { return faults_.Unread(field); }

  // Reports that a field is missing, unless another fault already says why.
  void Missing(std::string_view field, const std::string& what) {
    if (may_have_defaults_ || Misspells(field)) {
      faults_.MarkUnread(field);
    } else {
      Fault(field, what);
    }
  }
  // Whether the row has an unknown field that is likely meant to be this one.
  bool Misspells(std::string_view field) const {
    const auto misspells = [&](const auto& member) {
      return FindField(kind_, member.first) == nullptr && IsNear(member.first, field);
    };
    return std::ranges::any_of(row_.members(), misspells) ||
           std::ranges::any_of(defaults_.members(), misspells);
  }

  // The row's own value, else the default of its sign; null when there is neither.
  const Json& Take(std::string_view field) {
    // A field that this table lacks would be missing in the JSON schema made of it.
    GALEN_CHECK(FindField(kind_, field) != nullptr);
    taken_.insert(std::string(field));
    const Json* own = row_.Find(field);
    return own != nullptr ? *own : defaults_[field];
  }

  std::string Text(std::string_view field, bool required = false) {
    const Json& value = Take(field);
    if (value.is_null()) {
      if (required) Missing(field, "is missing");
      return "";
    }
    if (!value.is_string() && !value.is_number()) Fault(field, "is not a text");
    return FieldText(value);
  }

  std::optional<double> Number(std::string_view field) {
    const Json& value = Take(field);
    if (value.is_null()) return std::nullopt;
    if (value.is_number()) return value.AsDouble();
    Fault(field, "is not a number");
    return std::nullopt;
  }

  Duration Span(std::string_view field) {
    const std::string text = Text(field);
    if (text.empty()) return Duration::zero();
    const StatusOr<Duration> span = ParseDuration(text);
    if (!span.ok()) Fault(field, fmt::format("'{}' is not a time like 30s or 5m", text));
    return span.ok() ? *span : Duration::zero();
  }

  std::vector<std::string> Texts(std::string_view field) {
    std::vector<std::string> texts;
    const Json& value = Take(field);
    if (!value.is_null() && !value.is_array()) Fault(field, "is not a list");
    for (const Json& item : value.items()) texts.push_back(FieldText(item));
    return texts;
  }

  // A mapping of names to texts.
  std::map<std::string, std::string> Labels(std::string_view field) {
    std::map<std::string, std::string> labels;
    const Json& value = Take(field);
    if (!value.is_null() && !value.is_object()) Fault(field, "is not a mapping of names to texts");
    for (const auto& [name, text] : value.members()) labels[name] = FieldText(text);
    return labels;
  }

  bool Switch(std::string_view field) {
    const Json& value = Take(field);
    if (!value.is_null() && !value.is_bool()) Fault(field, "is neither true nor false");
    return value.AsBool();
  }

  template <typename T>
  T Choice(std::string_view field, std::vector<std::pair<std::string_view, T>> choices) {
    const std::string text = Text(field, true);
    std::string names, words;
    for (const auto& [name, value] : choices) {
      if (name == text) return value;
      names += names.empty() ? std::string(name) : fmt::format(", {}", name);
      words += words.empty() ? std::string(name) : fmt::format(" {}", name);
    }
    GALEN_CHECK(FindField(kind_, field)->choices == words);
    if (!text.empty()) Fault(field, fmt::format("'{}' is not one of {}", text, names));
    // Any will do: the fault that was noted keeps the table from being used.
    return choices.front().second;
  }

  // After all Takes: a field that is not in the table is a misspelling. CheckDefaults looks at
  // those of defaults.
  void RefuseUnknownFields() {
    // And each field of the table has been taken: none is without effect.
    GALEN_CHECK(taken_.size() == FieldsOf(kind_).size());
    for (const auto& [field, value] : row_.members()) {
      if (FindField(kind_, field) != nullptr) continue;
      Fault(field, "is not a field that this table knows" + NearField(kind_, field));
    }
  }

 private:
  const RowKind kind_;
  const Json& row_;
  const Json& defaults_;
  RuleFaults& faults_;
  bool may_have_defaults_ = false;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace galen::probes
