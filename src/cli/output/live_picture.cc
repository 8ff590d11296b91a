#include "cli/output/live_picture.h"

#include <fmt/core.h>

#include <algorithm>

namespace galen::cli {
namespace {

constexpr std::string_view kClearScreen = "\x1b[2J\x1b[H";
constexpr std::string_view kClearToEndOfLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

}  // namespace

void LivePicture::Draw(std::vector<std::string> lines) {
  const TerminalSize size = size_();
  Fit(lines, size);
  std::string bytes;
  if (lines_drawn_ > 0) {
    // After a resize the terminal has rewrapped the old lines, and their number is unknown, so the
    // picture starts anew.
    bytes = size == drawn_size_ ? fmt::format("\x1b[{}F", lines_drawn_) : std::string(kClearScreen);
  }
  // Line by line, without clearing everything, to avoid flicker.
  for (const std::string& line : lines) bytes += fmt::format("{}{}\n", line, kClearToEndOfLine);
  bytes += kClearBelow;
  drawn_size_ = size;
  lines_drawn_ = lines.size();
  output_(bytes);
}

void LivePicture::Fit(std::vector<std::string>& lines, const TerminalSize& size) const {
  // The cursor has its own row below the picture.
  const std::size_t rows = std::max<std::size_t>(size.rows, 2) - 1;
  if (lines.size() > rows && keep_ == Keep::kLast) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(rows));
  } else if (lines.size() > rows) {
    const std::size_t more = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back(fmt::format("… and {} lines more", more));
  }
  for (std::string& line : lines) line = CutLine(line, size.columns);
}

}  // namespace galen::cli
