#include "base/code_point.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(CodePoint, IsReadInItsShortestFormOnly) {
  EXPECT_EQ(ReadCodePoint("a").value, U'a');
  EXPECT_EQ(ReadCodePoint("°C").value, U'°');
  EXPECT_EQ(ReadCodePoint("→").bytes, 3u);
  EXPECT_EQ(ReadCodePoint("\U0001F600").value, 0x1F600u);
  for (const char* broken :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC2", "\x9B", "\xFF"}) {
    EXPECT_EQ(ReadCodePoint(broken).bytes, 0u) << testing::PrintToString(broken);
  }
}

TEST(CodePoint, ControlsAreWhatATerminalObeysOrAReaderDoesNotSee) {
  for (const char32_t c : {U'\x1b', U'\n', U'\x7f', U'\x9b', U'\u2028', U'\u202e', U'\u2066'}) {
    EXPECT_TRUE(IsControl(c)) << static_cast<std::uint32_t>(c);
  }
  for (const char32_t c : {U' ', U'a', U'°', U'→', U'\u200D'}) {
    EXPECT_FALSE(IsControl(c)) << static_cast<std::uint32_t>(c);
  }
}

TEST(EscapeHighControls, WritesThemAsJsonAndYamlReadThem) {
  EXPECT_EQ(EscapeHighControls("{\n  \"a\": \"\u009b2J\u202e 91 °C\x7f\"\n}"),
            "{\n  \"a\": \"\\u009b2J\\u202e 91 °C\\u007f\"\n}");
  EXPECT_EQ(EscapeHighControls("\"\x9b\""), "\"\uFFFD\"");
  EXPECT_EQ(EscapeHighControls(""), "");
}

TEST(HasHighControl, OnlyFromDeleteOn) {
  EXPECT_TRUE(HasHighControl("a\u202e"));
  EXPECT_TRUE(HasHighControl("a\x7f"));
  EXPECT_FALSE(HasHighControl("two\nlines at 91 °C"));
  EXPECT_FALSE(HasHighControl("\x9b")) << "no UTF-8";
}

}  // namespace
}  // namespace galen
