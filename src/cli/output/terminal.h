// The size of a terminal, and text made to fit. Pure except for reading the size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace galen::cli {

// In characters.
struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
  bool operator==(const TerminalSize&) const = default;
};

// By TIOCGWINSZ (ioctl_tty(2)); 80 × 24 for a terminal without a known size.
TerminalSize SizeOfTerminal(int fd);

// `line` cut to `columns`, the last of them "…" when something is cut. Colours (escape sequences of
// the form ESC [ … letter) have no width and are reset at the cut.
std::string CutLine(std::string_view line, std::size_t columns);

// `text` in lines of at most `columns`, broken at spaces where there are any; every line but the
// first begins with `indent`. REQUIRES: columns > the indent's width.
std::vector<std::string> WrapText(std::string_view text, std::size_t columns,
                                  std::string_view indent);

// The lines of a text, without their newlines.
std::vector<std::string> SplitLines(std::string_view text);

// A text of several lines, each made Printable; a final newline is dropped.
std::string PrintableLines(std::string_view text);

}  // namespace galen::cli
