#include "cli/output/terminal.h"

#include <sys/ioctl.h>

#include <cctype>

#include "base/check.h"
#include "base/text.h"
#include "cli/output/table.h"

namespace galen::cli {
namespace {

constexpr char kEscape = '\x1b';

// The length of the code point, or the colour sequence, at `at`.
std::size_t BytesAt(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (text[at] == kEscape) {
    while (end < text.size() && !std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
    return std::min(end + 1, text.size()) - at;
  }
  while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
  return end - at;
}

// The width of `line` on a terminal, without colours.
std::size_t ShownWidth(std::string_view line) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < line.size(); at += BytesAt(line, at)) {
    if (line[at] != kEscape) ++width;
  }
  return width;
}

}  // namespace

TerminalSize SizeOfTerminal(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

std::string CutLine(std::string_view line, std::size_t columns) {
  if (columns == 0) return "";
  if (ShownWidth(line) <= columns) return std::string(line);
  std::string cut;
  std::size_t room = columns - 1;
  bool coloured = false;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t bytes = BytesAt(line, at);
    const bool colour = line[at] == kEscape;
    coloured = coloured || colour;
    if (!colour && room-- == 0) break;
    cut += line.substr(at, bytes);
    at += bytes;
  }
  return cut + (coloured ? "…\x1b[0m" : "…");
}

std::vector<std::string> WrapText(std::string_view text, std::size_t columns,
                                  std::string_view indent) {
  GALEN_CHECK(columns > Width(indent));
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    const bool begins = used == (lines.size() == 1 ? 0 : Width(indent));
    if (!begins && used + 1 + ShownWidth(word) > columns) {
      lines.back().erase(lines.back().find_last_not_of(' ') + 1);
      lines.emplace_back(indent);
      used = Width(indent);
    } else if (!begins) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += ShownWidth(word);
    at = end + 1;
  }
  // A word longer than a line is cut, which happens only for paths.
  for (std::string& line : lines) line = CutLine(line, columns);
  return lines;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string PrintableLines(std::string_view text) {
  std::string printable;
  for (const std::string& line : SplitLines(text)) printable += Printable(line) + "\n";
  if (!printable.empty()) printable.pop_back();
  return printable;
}

}  // namespace galen::cli
