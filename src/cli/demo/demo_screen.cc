#include "cli/demo/demo_screen.h"

#include <algorithm>

#include "cli/output/table.h"

namespace galen::cli {
namespace {

// Aligns lines below a step's text, after its number.
constexpr std::string_view kIndent = "    ";

// "1/5 XID 79 on …" with its number in colour.
std::string PaintStep(const std::string& line, Tone tone, bool colour) {
  const std::size_t number = line.find(' ');
  if (line.find('/') >= number || number == std::string::npos) return line;
  return Paint(line.substr(0, number), tone, colour) + line.substr(number);
}

}  // namespace

void DemoScreen::Header(std::vector<std::string> lines) {
  header_ = std::move(lines);
  if (settings_.live) return Draw();
  for (const std::string& line : header_) output_(line + "\n");
}

void DemoScreen::Story(std::string line) {
  story_ = std::move(line);
  if (settings_.live) Draw();
}

void DemoScreen::Finished(std::string line) {
  story_.clear();
  finished_.push_back(std::move(line));
  if (settings_.live) return Draw();
  output_(finished_.back() + "\n");
}

void DemoScreen::Show(std::string table) {
  // Ages in the table change every second; without a change nothing is redrawn.
  if (table == table_) return;
  table_ = std::move(table);
  if (settings_.live) Draw();
}

void DemoScreen::Close(const std::string& text) {
  story_.clear();
  if (settings_.live) Draw();
  output_(text);
}

void DemoScreen::Draw() {
  const std::size_t columns = std::max<std::size_t>(settings_.size().columns, kIndent.size() + 1);
  std::vector<std::string> lines;
  const auto add = [&](const std::string& text) {
    for (std::string& line : WrapText(text, columns, kIndent)) lines.push_back(std::move(line));
  };
  for (const std::string& line : header_) lines.push_back(line);
  if (!header_.empty()) lines.emplace_back();
  for (const std::string& line : finished_) add(PaintStep(line, Tone::kGood, settings_.colour));
  if (!story_.empty()) add(PaintStep(story_, Tone::kWarning, settings_.colour));
  lines.emplace_back();
  for (std::string& line : SplitLines(table_)) lines.push_back(std::move(line));
  picture_.Draw(std::move(lines));
}

}  // namespace galen::cli
