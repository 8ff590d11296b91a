#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {

void RuleFaults::At(std::optional<YamlPlace> place, std::string row) {
  place_ = place;
  lines_ = nullptr;
  list_.clear();
  row_ = std::move(row);
  defaulted_.clear();
}

void RuleFaults::At(std::optional<std::size_t> line, std::string row) {
  At(line ? std::optional(YamlPlace{.line = *line}) : std::nullopt, std::move(row));
}

void RuleFaults::At(const YamlLines& lines, std::string_view list, std::size_t index,
                    std::string row) {
  lines_ = &lines;
  list_ = list;
  index_ = index;
  row_ = std::move(row);
  defaulted_.clear();
}

void RuleFaults::HasDefaults(std::string sign, std::set<std::string, std::less<>> fields) {
  sign_ = std::move(sign);
  defaulted_ = std::move(fields);
}

bool RuleFaults::Unread(std::string_view field) const {
  return unread_.contains({list_, row_, std::string(field)});
}

bool RuleFaults::UnreadInAny(std::string_view list, std::string_view field) const {
  return std::ranges::any_of(unread_, [&](const auto& each) {
    return std::get<0>(each) == list && std::get<2>(each) == field;
  });
}

bool RuleFaults::UnreadRow(std::string_view list, std::string_view row) const {
  return std::ranges::any_of(unread_, [&](const auto& each) {
    return std::get<0>(each) == list && std::get<1>(each) == row;
  });
}

void RuleFaults::AddUnread(std::string_view field, std::string_view what) {
  Add(field, what);
  MarkUnread(field);
}

void RuleFaults::MarkUnread(std::string_view field) {
  unread_.insert({list_, row_, std::string(field)});
}

void RuleFaults::Add(std::string_view field, std::string_view what) {
  if (Unread(field)) return;
  const bool defaulted = lines_ != nullptr && defaulted_.contains(field);
  const std::optional<YamlPlace> at = defaulted ? lines_->PlaceInside("defaults", sign_, field)
                                      : lines_ != nullptr
                                          ? lines_->PlaceOfField(list_, index_, field)
                                          : place_;
  const std::string row = defaulted ? fmt::format("defaults of {}", sign_) : row_;
  RuleFault fault{at, field.empty() ? fmt::format("{} {}", row, what)
                                    : fmt::format("{}: {} {}", row, field, what)};
  // A default stands there once, whatever number of rules has it.
  if (defaulted && std::ranges::find(faults_, fault) != faults_.end()) return;
  faults_.push_back(std::move(fault));
}

Status RuleFaults::ToStatus() const {
  if (faults_.empty()) return OkStatus();
  std::string all;
  // One wrong default can make every row faulty.
  const std::size_t listed = std::min(faults_.size(), kFaultsListedMax);
  for (std::size_t i = 0; i < listed; ++i) {
    const auto& [place, message] = faults_[i];
    all += (i > 0 ? "\n" : "") + origin_;
    if (place) all += fmt::format(":{}:{}", place->line, place->column);
    all += ": " + message;
  }
  if (listed < faults_.size()) all += fmt::format("\nand {} more", faults_.size() - listed);
  return {Code::kInvalidArgument, all};
}

}  // namespace galen::probes
