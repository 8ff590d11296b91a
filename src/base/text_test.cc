#include "base/text.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

constexpr const char* kBad = "\xEF\xBF\xBD";

TEST(ToValidUtf8, LeavesGoodTextAlone) {
  for (const char* text : {"", "gpu-3", "91 °C", "\xF0\x9F\x98\x80", "\xEF\xBF\xBF", "\n\x1b"}) {
    EXPECT_EQ(ToValidUtf8(text), text);
  }
}

TEST(ToValidUtf8, ReplacesEachBrokenByte) {
  EXPECT_EQ(ToValidUtf8("a\xff"
                        "b"),
            std::string("a") + kBad + "b");
  EXPECT_EQ(ToValidUtf8("\xc0\xaf"), std::string(kBad) + kBad);             // too long a form
  EXPECT_EQ(ToValidUtf8("\xed\xa0\x80"), std::string(kBad) + kBad + kBad);  // half a surrogate
  EXPECT_EQ(ToValidUtf8("\xe0\x80\x80"), std::string(kBad) + kBad + kBad);
  EXPECT_EQ(ToValidUtf8("\xf4\x90\x80\x80"), std::string(kBad) + kBad + kBad + kBad);
  EXPECT_EQ(ToValidUtf8("\xe2\x82"), std::string(kBad) + kBad);  // cut off at the end
  EXPECT_EQ(ToValidUtf8("\xe2\x28"), std::string(kBad) + "(");
}

TEST(Trimmed, KeepsWhatStandsBetweenBlanks) {
  EXPECT_EQ(Trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trimmed("a"), "a");
  EXPECT_EQ(Trimmed(" \n"), "");
  EXPECT_EQ(Trimmed(""), "");
}

TEST(CutText, KeepsWhatFitsAndMarksWhatWasCut) {
  EXPECT_EQ(CutText("abcdef", 6), "abcdef");
  EXPECT_EQ(CutText("abcdefg", 6), "abc...");
  EXPECT_EQ(CutText("abcdefg", 2), "ab");
  EXPECT_EQ(CutText("abcdefg", 0), "");
}

TEST(CutText, NeverCutsInsideACodePoint) {
  const std::string degrees = "°°°°";  // two bytes each
  for (std::size_t bytes = 0; bytes <= degrees.size(); ++bytes) {
    const std::string cut = CutText(degrees, bytes);
    EXPECT_LE(cut.size(), bytes);
    EXPECT_EQ(ToValidUtf8(cut), cut) << bytes;
  }
}

TEST(Printable, TakesTheTeethOutOfControlCharacters) {
  EXPECT_EQ(Printable("a\x1b[2Jb"), std::string("a") + kBad + "[2Jb");
  EXPECT_EQ(Printable("a\nb\tc\x7f"), std::string("a") + kBad + "b" + kBad + "c" + kBad);
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            std::string(kBad) + "31m");  // CSI in one code point
  EXPECT_EQ(Printable("a\xE2\x80\xAE"
                      "b"),
            std::string("a") + kBad + "b");  // right-to-left override
  EXPECT_EQ(Printable("\xff"), kBad);
  EXPECT_EQ(Printable("91 °C, é"), "91 °C, é");
}

TEST(Shown, IsCleanAndShortWhateverAStrangerWrote) {
  EXPECT_EQ(Shown("a\x1b[31m\n"), std::string("a") + kBad + "[31m" + kBad);
  EXPECT_EQ(Shown("a stranger's name", 10), "a stran...");
  const std::string megabyte(1 << 20, 'x');
  EXPECT_EQ(Shown(megabyte), std::string(237, 'x') + "...");
  EXPECT_EQ(Shown("\xC3\xA9\xC3\xA9\xC3\xA9", 5), "\xC3\xA9...") << "no code point is cut";
}

TEST(GiveBack, LeavesNoRoom) {
  std::string text(1 << 20, 'x');
  GiveBack(text);
  EXPECT_EQ(text, "");
  EXPECT_LT(text.capacity(), 100u);
}

TEST(Counted, IsOneOrMany) {
  EXPECT_EQ(Counted(1, "slice"), "1 slice");
  EXPECT_EQ(Counted(0, "slice"), "0 slices");
  EXPECT_EQ(Counted(12, "slice"), "12 slices");
}

TEST(LeadingNumber, IsOfDigitsThatFitAndEndsWhereTheyDo) {
  EXPECT_EQ(LeadingNumber("12"), 12);
  EXPECT_EQ(LeadingNumber("0\n"), 0);
  EXPECT_EQ(LeadingNumber("7:30"), 7);
  EXPECT_EQ(LeadingNumber("1fg", 16), 31);
  EXPECT_EQ(LeadingNumber("9223372036854775807"), INT64_MAX);
  for (const char* none : {"", "-1", "-0", "+1", " 1", "a1", "9223372036854775808"}) {
    EXPECT_EQ(LeadingNumber(none), std::nullopt) << none;
  }
}

TEST(IsNear, TakesOneOrTwoWrongLettersForASlip) {
  for (const auto& [a, b] : {std::pair("fiel", "file"), std::pair("temprature", "temperature"),
                             std::pair("hwen", "when"), std::pair("row", "row")}) {
    EXPECT_TRUE(IsNear(a, b)) << a;
    EXPECT_TRUE(IsNear(b, a)) << a;
  }
  for (const auto& [a, b] : {std::pair("row", "cpu"), std::pair("", "id"), std::pair("no", "id"),
                             std::pair("temperature", "tempo")}) {
    EXPECT_FALSE(IsNear(a, b)) << a;
  }
  EXPECT_FALSE(IsNear(std::string(100, 'a'), std::string(100, 'a'))) << "costs are bounded";
}

TEST(DnsNames, LabelsAreShortAndPlain) {
  for (const char* good : {"a", "gpu-0", "0", "a--b"}) EXPECT_TRUE(IsDnsLabel(good)) << good;
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a_b", "a b", "é"}) {
    EXPECT_FALSE(IsDnsLabel(bad)) << bad;
  }
  EXPECT_TRUE(IsDnsLabel(std::string(63, 'a')));
  EXPECT_FALSE(IsDnsLabel(std::string(64, 'a')));
}

TEST(DnsNames, SubdomainsAreLabelsWithDots) {
  for (const char* good : {"a", "gpu.example.com", "1.2"})
    EXPECT_TRUE(IsDnsSubdomain(good)) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.-b", "a/b"}) {
    EXPECT_FALSE(IsDnsSubdomain(bad)) << bad;
  }
  EXPECT_TRUE(IsDnsSubdomain(std::string(253, 'a')));
  EXPECT_FALSE(IsDnsSubdomain(std::string(254, 'a')));
}

}  // namespace
}  // namespace galen
