#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "base/random.h"
#include "history/store/store.h"

namespace galen::history {
namespace {

std::string TextsOf(const LineWindow& window) {
  std::string texts;
  window.ForEach([&](const LineWindow::Line& line) {
    texts += std::to_string(line.sequence) + "=" + std::string(line.text) + " ";
  });
  return texts;
}

TEST(LineWindow, HoldsLinesInOrderUntilTheOldestGo) {
  LineWindow window;
  EXPECT_TRUE(window.empty());
  window.Push(1, "one");
  window.Push(2, "");
  window.Push(5, "five");
  EXPECT_EQ(TextsOf(window), "1=one 2= 5=five ");
  EXPECT_EQ(window.size(), 3u);
  EXPECT_EQ(window.bytes(), 7u);
  window.PopFront();
  EXPECT_EQ(window.front().sequence, 2u);
  window.PopFront();
  EXPECT_EQ(window.front().text, "five");
  window.PopFront();
  EXPECT_TRUE(window.empty());
  EXPECT_EQ(window.bytes(), 0u);
  window.Push(6, "six");
  EXPECT_EQ(TextsOf(window), "6=six ");
}

TEST(LineWindow, ALineThatIsLongerThanAPieceIsKeptWhole) {
  LineWindow window;
  const std::string huge(3 << 20, 'x');
  window.Push(1, "a");
  window.Push(2, huge);
  window.Push(3, "b");
  window.PopFront();
  EXPECT_EQ(window.front().text, huge);
  window.PopFront();
  EXPECT_EQ(TextsOf(window), "3=b ");
}

TEST(LineWindow, IsTheSameAsAQueueOfStringsWhateverComesAndGoes) {
  const std::uint64_t seed = Random::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  LineWindow window;
  std::deque<std::pair<std::uint64_t, std::string>> model;
  std::size_t bytes = 0;
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    const std::string text(random.Below(600), static_cast<char>('a' + i % 26));
    window.Push(i, text);
    model.emplace_back(i, text);
    bytes += text.size();
    // Longer and longer runs of each: it fills several pieces, and is empty now and then.
    for (std::uint64_t n = random.Below(i % 5000 < 2500 ? 2 : 4); n > 0 && !model.empty(); --n) {
      ASSERT_EQ(window.front().sequence, model.front().first);
      ASSERT_EQ(window.front().text, model.front().second);
      bytes -= model.front().second.size();
      window.PopFront();
      model.pop_front();
    }
    ASSERT_EQ(window.size(), model.size());
    ASSERT_EQ(window.bytes(), bytes);
  }
  auto expected = model.begin();
  window.ForEach([&](const LineWindow::Line& line) {
    ASSERT_EQ(line.sequence, expected->first);
    ASSERT_EQ(line.text, expected->second);
    ++expected;
  });
  EXPECT_EQ(expected, model.end());
}

}  // namespace
}  // namespace galen::history
