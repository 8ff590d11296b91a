// Rows of text in columns, as wide as their widest cell, with colours where they help.
// Values; free of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace galen::cli {

// The meaning of a colour; it is never the only sign, for pipes and colour-blind people. Faint: not
// known, or not important.
enum class Tone { kPlain, kGood, kWarning, kBad, kFaint };

// `text` in its colour by ANSI codes when `colour` is on.
std::string Paint(std::string_view text, Tone tone, bool colour);

// How many columns of a terminal `utf8` takes; code points, good enough for what we print.
std::size_t Width(std::string_view utf8);

// Collects rows and formats them. Colours do not count for widths.
class Table {
 public:
  // A text and its colour.
  struct Cell {
    Cell(std::string text_in, Tone tone_in = Tone::kPlain)  // NOLINT(google-explicit-constructor)
        : text(std::move(text_in)), tone(tone_in) {}
    Cell(const char* text_in) : text(text_in) {}  // NOLINT(google-explicit-constructor)
    std::string text;
    Tone tone = Tone::kPlain;
  };
  // The cells of a line, and the key that identifies it.
  struct Row {
    std::vector<Cell> cells;
    std::string key;  // what the row is about, the same each time the table is made; "" = nothing
  };
  using Widths = std::vector<std::size_t>;  // one for each column

  // Columns before `finding` identify a row, the others show its state.
  explicit Table(std::vector<std::string> header, std::size_t finding = 1)
      : header_(std::move(header)), finding_(finding) {}

  // REQUIRES: as many cells as the header has.
  void Add(std::vector<Cell> cells, std::string key = "");
  // Removes the column of this name; false when there is none.
  bool Drop(std::string_view name);
  // Whether all rows have the same value in this column; true when there is none.
  bool SaysOneThing(std::string_view name) const;
  bool empty() const { return rows_.empty(); }
  const std::vector<std::string>& header() const { return header_; }
  const std::vector<Row>& rows() const { return rows_; }
  std::size_t finding() const { return finding_; }

  // Lines with a newline each; the last column is not padded. Control characters in cells are made
  // printable: a device's name must not control the terminal.
  std::string Text(bool colour) const;

  // The width of its widest line.
  std::size_t Columns() const;

  // For lines that are printed one by one: makes `widths` at least as wide as each cell.
  void Widen(Widths& widths) const;
  static std::string Line(const std::vector<Cell>& cells, const Widths& widths, bool colour);

 private:
  std::vector<std::string> header_;
  std::size_t finding_;
  std::vector<Row> rows_;
};

}  // namespace galen::cli
