#include "cli/table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace galen::cli {
namespace {

constexpr std::size_t kGap = 2;

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

void Table::Add(std::vector<Cell> row) {
  GALEN_CHECK(row.size() == header_.size());
  for (Cell& cell : row) cell.text = Printable(cell.text);
  rows_.push_back(std::move(row));
}

std::string Table::Text(bool colour) const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t width = Width(header_[column]);
    for (const auto& row : rows_) width = std::max(width, Width(row[column].text));
    widths.push_back(width);
  }
  std::string text;
  const auto add = [&](std::size_t column, const std::string& cell, Tone tone) {
    text += Paint(cell, tone, colour);
    const bool last = column + 1 == header_.size();
    text += last ? "\n" : std::string(widths[column] - Width(cell) + kGap, ' ');
  };
  for (std::size_t i = 0; i < header_.size(); ++i) add(i, header_[i], Tone::kPlain);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) add(i, row[i].text, row[i].tone);
  }
  return text;
}

}  // namespace galen::cli
