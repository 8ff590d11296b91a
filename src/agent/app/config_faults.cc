#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "agent/app/config.h"

namespace galen::agent {

void ConfigFaults::UseFile(std::string path, std::string_view text) {
  path_ = std::move(path);
  lines_ = YamlLines(text);
}

// "timeouts[2].timeout" stands in the third item of its list.
std::optional<std::size_t> ConfigFaults::LineOf(std::string_view where) const {
  const std::size_t bracket = where.find('[');
  const std::string_view key = where.substr(0, bracket);
  if (flags_.contains(key)) return std::nullopt;
  if (bracket == std::string_view::npos) return lines_.OfKey(key);
  std::size_t index = 0;
  std::from_chars(where.data() + bracket + 1, where.data() + where.size(), index);
  const std::size_t dot = where.find("].");
  return dot == std::string_view::npos ? lines_.OfItem(key, index)
                                       : lines_.OfField(key, index, where.substr(dot + 2));
}

void ConfigFaults::Add(std::string_view where, std::string_view what) {
  const auto flag = flags_.find(where);
  const std::string name = flag == flags_.end() ? std::string(where) : flag->second;
  faults_.push_back({LineOf(where), std::string(where),
                     name.empty() ? std::string(what) : fmt::format("{} {}", name, what)});
}

void ConfigFaults::AddDoubled(const std::vector<DoubledKey>& keys) {
  for (const DoubledKey& key : keys) {
    faults_.push_back({key.line, "", fmt::format("key \"{}\" comes twice", key.key)});
  }
}

bool ConfigFaults::Has(std::string_view where) const {
  return std::ranges::any_of(faults_, [&](const Fault& fault) { return fault.where == where; });
}

void ConfigFaults::AddRefusal(std::string_view where, const Status& status) {
  Add(where, status.message());
  std::string& text = faults_.back().text;
  // "stateDir: make directory …": the status is a sentence of its own, so a colon stands before it.
  text.insert(text.size() - status.message().size() - 1, ":");
  if (refusals_++ == 0) refusal_ = status;
}

Status ConfigFaults::ToStatus() const {
  if (faults_.empty()) return OkStatus();
  // Faults without a line come last; within one line, in the order they were found.
  const std::size_t kLast = std::numeric_limits<std::size_t>::max();
  const auto place = [kLast](const Fault& fault) { return fault.line.value_or(kLast); };
  std::vector<Fault> sorted;
  for (const Fault& fault : faults_) {
    sorted.insert(std::ranges::upper_bound(sorted, place(fault), {}, place), fault);
  }
  std::string text = path_.empty() ? "" : path_ + ": ";
  text += sorted.size() == 1 ? "1 fault:" : fmt::format("{} faults:", sorted.size());
  for (const Fault& fault : sorted) {
    const std::string line = fault.line ? fmt::format("{}:{}: ", path_, *fault.line) : "";
    // A fault of many lines stays one block.
    std::string indented = fault.text;
    for (std::size_t at = 0; (at = indented.find('\n', at)) != std::string::npos; at += 5) {
      indented.replace(at, 1, "\n    ");
    }
    text += "\n  " + line + indented;
  }
  const bool refused = refusals_ == faults_.size();
  return {refused ? refusal_.code() : Code::kInvalidArgument, text};
}

}  // namespace galen::agent
