#include "cli/demo_screen.h"

#include <fmt/core.h>

#include <algorithm>

namespace galen::cli {
namespace {

std::size_t LinesIn(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

void DemoScreen::Header(std::vector<std::string> lines) {
  header_ = std::move(lines);
  if (live_) return Draw();
  for (const std::string& line : header_) output_(line + "\n");
}

void DemoScreen::Story(std::string line) {
  story_ = std::move(line);
  if (live_) Draw();
}

void DemoScreen::Finished(std::string line) {
  story_.clear();
  finished_.push_back(std::move(line));
  if (live_) return Draw();
  output_(finished_.back() + "\n");
}

void DemoScreen::Show(std::string table) {
  if (table == table_) return;
  table_ = std::move(table);
  if (live_) Draw();
}

void DemoScreen::Close(const std::string& text) {
  story_.clear();
  if (live_) Draw();
  output_(text);
}

void DemoScreen::Draw() {
  std::string picture;
  for (const std::string& line : header_) picture += line + "\n";
  picture += "\n";
  for (const std::string& line : finished_) picture += line + "\n";
  if (!story_.empty()) picture += story_ + "\n";
  picture += "\n" + table_;
  // Up over the last picture, then clear to the end: nothing above the demo is touched.
  std::string bytes = lines_drawn_ > 0 ? fmt::format("\x1b[{}F\x1b[J", lines_drawn_) : "";
  lines_drawn_ = LinesIn(picture);
  output_(bytes + picture);
}

}  // namespace galen::cli
