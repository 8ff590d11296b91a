// Some lines of a terminal that are redrawn in place, cut to the terminal's present size; lines
// above them stay. Belongs to its session's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/terminal.h"

namespace galen::cli {

class LivePicture {
 public:
  // Which lines stay when there are more than the terminal has rows.
  enum class Keep { kFirst, kLast };

  LivePicture(Keep keep, std::function<TerminalSize()> size,
              std::function<void(std::string_view)> output)
      : keep_(keep), size_(std::move(size)), output_(std::move(output)) {}

  void Draw(std::vector<std::string> lines);

 private:
  void Fit(std::vector<std::string>& lines, const TerminalSize& size) const;

  const Keep keep_;
  const std::function<TerminalSize()> size_;
  const std::function<void(std::string_view)> output_;
  TerminalSize drawn_size_;
  std::size_t lines_drawn_ = 0;
};

}  // namespace galen::cli
