#include "cli/output/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/text.h"

namespace galen::cli {
namespace {

// Spaces between columns.
constexpr std::size_t kGap = 2;

// SGR parameters of ECMA-48 that every terminal knows; both light and dark ones show them.
std::string_view Code(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "32";
    case Tone::kWarning:
      return "33";
    case Tone::kBad:
      return "31;1";
    case Tone::kFaint:
      return "90";
  }
  GALEN_UNREACHABLE();
}

}  // namespace

std::string Paint(std::string_view text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", Code(tone), text);
}

std::size_t Width(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void Table::Add(std::vector<Cell> cells, std::string key) {
  GALEN_CHECK(cells.size() == header_.size());
  for (Cell& cell : cells) cell.text = Printable(cell.text);
  rows_.push_back({std::move(cells), std::move(key)});
}

bool Table::Drop(std::string_view name) {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return false;
  const std::ptrdiff_t column = found - header_.begin();
  header_.erase(found);
  for (Row& row : rows_) row.cells.erase(row.cells.begin() + column);
  if (static_cast<std::size_t>(column) < finding_) --finding_;
  return true;
}

bool Table::SaysOneThing(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return true;
  const auto column = static_cast<std::size_t>(found - header_.begin());
  return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.cells[column].text == rows_.front().cells[column].text;
  });
}

void Table::Widen(Widths& widths) const {
  widths.resize(header_.size());
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t& width = widths[column];
    width = std::max(width, Width(header_[column]));
    for (const Row& row : rows_) width = std::max(width, Width(row.cells[column].text));
  }
}

std::string Table::Line(const std::vector<Cell>& cells, const Widths& widths, bool colour) {
  std::string line;
  std::size_t end = cells.size();
  // No trailing blanks: they wrap on a narrow terminal and end up in pasted text.
  while (end > 0 && cells[end - 1].text.empty()) --end;
  for (std::size_t column = 0; column < end; ++column) {
    const Cell& cell = cells[column];
    line += Paint(cell.text, cell.tone, colour);
    if (column + 1 < end) line.append(widths[column] - Width(cell.text) + kGap, ' ');
  }
  return line + "\n";
}

std::size_t Table::Columns() const {
  Widths widths;
  Widen(widths);
  return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

std::string Table::Text(bool colour) const {
  Widths widths;
  Widen(widths);
  std::string text = Line({header_.begin(), header_.end()}, widths, false);
  for (const Row& row : rows_) text += Line(row.cells, widths, colour);
  return text;
}

}  // namespace galen::cli
