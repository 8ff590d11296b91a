// The demo's picture. On a terminal: a header, the finished steps, the story's line and a table
// that is redrawn in place, fitted to the terminal's size. Elsewhere: plain lines, one for each
// step. Belongs to its session's thread.
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

  // Where the picture is drawn.
  struct Settings {
    bool live = false;  // standard output is a terminal that may be redrawn
    bool colour = false;
    std::function<TerminalSize()> size = {};  // of a live one
  };
  DemoScreen(Settings settings, Output output)
      : settings_(std::move(settings)),
        output_(std::move(output)),
        picture_(LivePicture::Keep::kLast, settings_.size, output_) {}

  // The running programs and their files; replaces an earlier header.
  void Header(std::vector<std::string> lines);
  // The line above the table: what is happening now. Only printed on a terminal.
  void Story(std::string line);
  // A step is over; its line stays.
  void Finished(std::string line);
  // The table as it is now; drawn only on a terminal and only when it differs.
  void Show(std::string table);
  // Ends the picture: later output comes below it.
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
