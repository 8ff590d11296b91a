// A few lines of a terminal that are drawn over again and again in their place, cut to what the
// terminal holds at that moment; what stands above them stays. Belongs to its session's thread.
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
