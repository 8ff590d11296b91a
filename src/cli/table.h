// Rows of text in columns, as wide as their widest cell, with colours where they help.
// Values; free of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace galen::cli {

// What a colour says; it never says anything alone. Faint: not known, or not important.
enum class Tone { kPlain, kGood, kWarning, kBad, kFaint };

// `text` in its colour by ANSI codes when `colour` is on.
std::string Paint(std::string_view text, Tone tone, bool colour);

// How many columns of a terminal `utf8` takes; code points, good enough for what we print.
std::size_t Width(std::string_view utf8);

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}

  struct Cell {
    Cell(std::string text_in, Tone tone_in = Tone::kPlain)  // NOLINT(google-explicit-constructor)
        : text(std::move(text_in)), tone(tone_in) {}
    Cell(const char* text_in) : text(text_in) {}  // NOLINT(google-explicit-constructor)
    std::string text;
    Tone tone = Tone::kPlain;
  };
  // REQUIRES: as many cells as the header has.
  void Add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }

  // Lines with a newline each; the last column is not padded. Control characters in cells are made
  // printable: what a device calls itself must not drive a terminal.
  std::string Text(bool colour) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace galen::cli
