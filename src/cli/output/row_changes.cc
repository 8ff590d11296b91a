#include "cli/output/row_changes.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace galen::cli {
namespace {

// Widths that columns usually need later: printed lines cannot be moved any more. A state with its
// share, a time to the millisecond, a code.
constexpr std::pair<std::string_view, std::size_t> kUsualWidths[] = {
    {"HEALTH", 13}, {"SINCE", 24}, {"FOR", 24}, {"UP", 24}, {"REASON", 18}, {"WORST", 9}};

Table::Widths UsualWidths(const Table& table) {
  Table::Widths widths;
  for (const std::string& name : table.header()) {
    const auto* usual = std::find_if(std::begin(kUsualWidths), std::end(kUsualWidths),
                                     [&](const auto& entry) { return entry.first == name; });
    widths.push_back(usual == std::end(kUsualWidths) ? 0 : usual->second);
  }
  return widths;
}

bool SaysTheSame(const Table::Row& a, const Table::Row& b) {
  return std::equal(
      a.cells.begin(), a.cells.end(), b.cells.begin(), b.cells.end(),
      [](const Table::Cell& one, const Table::Cell& other) { return one.text == other.text; });
}

std::vector<Table::Cell> Gone(const Table::Row& row, std::size_t finding) {
  std::vector<Table::Cell> cells = row.cells;
  for (std::size_t i = finding; i < cells.size(); ++i) cells[i] = i == finding ? "gone" : "";
  return cells;
}

// The identity of an item of any kind: its names, and those of its device.
std::string KeyOf(const Json& item) {
  std::string key = item["metadata"]["name"].AsString();
  for (const char* name : {"node", "name", "namespace", "pod", "claim", "request"})
    key += " " + item[name].AsString();
  const Json& device = item["device"].is_object() ? item["device"] : item;
  for (const char* name : {"driver", "pool", "device"}) key += " " + device[name].AsString();
  return key;
}

std::string EventLine(const char* type, const Json& object) {
  return Json::MakeObject({{"type", type}, {"object", object}}).Dump() + "\n";
}

}  // namespace

std::string RowChanges::Next(const Table& table) {
  if (widths_.empty()) widths_ = UsualWidths(table);
  table.Widen(widths_);
  std::string lines;
  if (!begun_ && !table.empty()) {
    begun_ = true;
    lines = Table::Line({table.header().begin(), table.header().end()}, widths_, false);
  }
  std::map<std::string, Table::Row> now;
  for (const Table::Row& row : table.rows()) {
    const auto before = shown_.find(row.key);
    if (before == shown_.end() || !SaysTheSame(before->second, row)) {
      lines += Table::Line(row.cells, widths_, false);
    }
    now.insert_or_assign(row.key, row);
  }
  for (const auto& [key, row] : shown_) {
    if (!now.contains(key)) lines += Table::Line(Gone(row, table.finding()), widths_, false);
  }
  shown_ = std::move(now);
  return lines;
}

std::string ItemChanges::Next(const Json& document) {
  std::string lines;
  std::map<std::string, Json> now;
  for (const Json& item : document["items"].items()) {
    const std::string key = KeyOf(item);
    const auto before = shown_.find(key);
    if (before == shown_.end()) {
      lines += EventLine("ADDED", item);
    } else if (before->second != item) {
      lines += EventLine("MODIFIED", item);
    }
    now.insert_or_assign(key, item);
  }
  for (const auto& [key, item] : shown_) {
    if (!now.contains(key)) lines += EventLine("DELETED", item);
  }
  shown_ = std::move(now);
  return lines;
}

}  // namespace galen::cli
