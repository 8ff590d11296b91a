#include "cli/output/live_picture.h"

#include <gtest/gtest.h>

#include <map>

namespace galen::cli {
namespace {

// As much of a terminal as the picture uses: it wraps long lines as a real one does, so that a
// picture which counts its rows wrongly leaves copies behind.
class Screen {
 public:
  explicit Screen(TerminalSize size) : size_(size) {}
  TerminalSize size() const { return size_; }
  void Resize(TerminalSize size) { size_ = size; }

  void Take(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) at += TakeOne(bytes.substr(at));
  }
  std::vector<std::string> Rows() const {
    std::vector<std::string> rows;
    for (const auto& [row, text] : rows_) rows.push_back(text);
    while (!rows.empty() && rows.back().empty()) rows.pop_back();
    return rows;
  }

 private:
  std::size_t TakeOne(std::string_view bytes) {
    if (bytes[0] == '\n') {
      rows_[++row_];
      column_ = 0;
      return 1;
    }
    if (bytes[0] == '\x1b') return Obey(bytes);
    if (column_ == size_.columns) {
      rows_[++row_].clear();
      column_ = 0;
    }
    std::size_t length = 1;
    while (length < bytes.size() && (bytes[length] & 0xC0) == 0x80) ++length;
    if (column_ == 0) rows_[row_].clear();
    rows_[row_] += bytes.substr(0, length);
    ++column_;
    return length;
  }
  std::size_t Obey(std::string_view bytes) {
    std::size_t end = 2;
    while (!std::isalpha(static_cast<unsigned char>(bytes[end]))) ++end;
    const int number = std::atoi(std::string(bytes.substr(2, end - 2)).c_str());
    if (bytes[end] == 'F') {
      row_ = std::max(0, row_ - number);
      column_ = 0;
    } else if (bytes[end] == 'J') {
      if (number == 2) rows_.clear();
      rows_.erase(rows_.upper_bound(row_), rows_.end());
      if (column_ == 0) rows_[row_].clear();
    } else if (bytes[end] == 'K' && column_ == 0) {
      rows_[row_].clear();
    } else if (bytes[end] == 'H') {
      row_ = 0;
      column_ = 0;
    }
    return end + 1;
  }

  TerminalSize size_;
  std::map<int, std::string> rows_;
  int row_ = 0;
  std::size_t column_ = 0;
};

struct Picture {
  explicit Picture(TerminalSize size, LivePicture::Keep keep = LivePicture::Keep::kLast)
      : screen(size),
        picture(
            keep, [this] { return screen.size(); },
            [this](std::string_view bytes) { screen.Take(bytes); }) {}
  Screen screen;
  LivePicture picture;
};

const std::string kLong(118, 'x');

TEST(LivePicture, StaysInPlaceThoughALineIsLongerThanTheTerminal) {
  Picture demo({.columns = 80, .rows = 24});
  for (int i = 0; i < 5; ++i) demo.picture.Draw({kLong, "table " + std::to_string(i)});
  EXPECT_EQ(demo.screen.Rows(), (std::vector<std::string>{std::string(79, 'x') + "…", "table 4"}));
}

TEST(LivePicture, KeepsTheLastRowsThatFit) {
  Picture demo({.columns = 80, .rows = 4});
  for (int i = 0; i < 3; ++i) demo.picture.Draw({"header", "story", "POD", "a", "b"});
  EXPECT_EQ(demo.screen.Rows(), (std::vector<std::string>{"POD", "a", "b"}));
}

TEST(LivePicture, OrTheFirstAndSaysHowManyThereAreMore) {
  Picture watch({.columns = 80, .rows = 4}, LivePicture::Keep::kFirst);
  for (int i = 0; i < 3; ++i) watch.picture.Draw({"POD", "worst", "b", "c", "d"});
  EXPECT_EQ(watch.screen.Rows(), (std::vector<std::string>{"POD", "worst", "… and 3 lines more"}));
}

TEST(LivePicture, LeavesNothingOfALongerPictureBehind) {
  Picture demo({.columns = 80, .rows = 24});
  demo.picture.Draw({"a long line", "second", "third"});
  demo.picture.Draw({"short"});
  EXPECT_EQ(demo.screen.Rows(), (std::vector<std::string>{"short"}));
}

TEST(LivePicture, StartsAnewWhenTheTerminalHasAnotherSize) {
  Picture demo({.columns = 80, .rows = 24});
  demo.picture.Draw({kLong, "table"});
  demo.screen.Resize({.columns = 20, .rows = 24});
  demo.picture.Draw({kLong, "table"});
  EXPECT_EQ(demo.screen.Rows(), (std::vector<std::string>{std::string(19, 'x') + "…", "table"}));
}

}  // namespace
}  // namespace galen::cli
