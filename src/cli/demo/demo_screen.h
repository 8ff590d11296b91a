// The demo's picture. On a terminal: a header, what is over, the story's line and a table that
// stays in place and changes under the eye, wrapped and cut to the terminal as it is. Elsewhere:
// plain lines, one a step. Belongs to its session's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/output/live_picture.h"

namespace galen::cli {

class DemoScreen {
 public:
  // Takes bytes for standard output.
  using Output = std::function<void(std::string_view)>;

  struct Settings {
    bool live = false;  // standard output is a terminal and may be drawn upon
    bool colour = false;
    std::function<TerminalSize()> size = {};  // of a live one
  };
  DemoScreen(Settings settings, Output output)
      : settings_(std::move(settings)),
        output_(std::move(output)),
        picture_(LivePicture::Keep::kLast, settings_.size, output_) {}

  // What runs and where its files are; replaces an earlier header.
  void Header(std::vector<std::string> lines);
  // The line above the table: what is happening now. Not printed elsewhere than on a terminal.
  void Story(std::string line);
  // A step is over; its line stays.
  void Finished(std::string line);
  // The table as it is now; drawn only on a terminal and only when it differs.
  void Show(std::string table);
  // Leaves the picture: what is printed from now on comes below it.
  void Close(const std::string& text);

 private:
  void Draw();

  const Settings settings_;
  const Output output_;
  LivePicture picture_;
  std::vector<std::string> header_;
  std::vector<std::string> finished_;
  std::string story_;
  std::string table_;
};

}  // namespace galen::cli
