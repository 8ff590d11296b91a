// The demo's picture. On a terminal: a header, the story's line and a table that stays in place and
// changes under the eye. Elsewhere: plain lines, one a step. Belongs to its session's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace galen::cli {

class DemoScreen {
 public:
  // Takes bytes for standard output.
  using Output = std::function<void(std::string_view)>;

  DemoScreen(bool live, Output output) : live_(live), output_(std::move(output)) {}

  // What runs and where its files are.
  void Header(std::vector<std::string> lines);
  // The line above the table: what is happening now.
  void Story(std::string line);
  // A step is over; its line stays.
  void Finished(std::string line);
  // The table as it is now; drawn only on a terminal and only when it differs.
  void Show(std::string table);
  // Leaves the picture: what is printed from now on comes below it.
  void Close(const std::string& text);

 private:
  void Draw();

  const bool live_;
  const Output output_;
  std::vector<std::string> header_;
  std::vector<std::string> finished_;
  std::string story_;
  std::string table_;
  std::size_t lines_drawn_ = 0;
};

}  // namespace galen::cli
