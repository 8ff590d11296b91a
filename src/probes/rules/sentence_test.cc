#include "probes/rules/sentence.h"

#include <gtest/gtest.h>

#include "model/health.h"

namespace galen::probes {
namespace {

SentenceValues Values(std::string value, std::string expected = "", double share = 1.0) {
  SentenceValues values;
  values.value = std::move(value);
  values.expected = std::move(expected);
  values.threshold = "85";
  values.share = share;
  return values;
}

TEST(Sentence, FillsInWhatWasMeasured) {
  EXPECT_EQ(FillSentence("GPU temperature {value} °C exceeds {threshold} °C", Values("91")),
            "GPU temperature 91 °C exceeds 85 °C");
  EXPECT_EQ(FillSentence("PCIe link x{value}, expected x{expected}: {share} bandwidth",
                         Values("8", "16", 0.5)),
            "PCIe link x8, expected x16: half the bandwidth");
}

TEST(Sentence, SharesAreToldInWordsWherePeopleHaveThem) {
  EXPECT_EQ(ShareWords(0.5), "half the");
  EXPECT_EQ(ShareWords(0.25), "a quarter of the");
  EXPECT_EQ(ShareWords(0.125), "an eighth of the");
  EXPECT_EQ(ShareWords(0), "none of the");
  EXPECT_EQ(ShareWords(0.889), "89 % of the");
}

TEST(Sentence, UnknownPlaceholdersAndLoneBracesAreRefused) {
  EXPECT_TRUE(CheckSentence("a {value} b {unit} c {text}").ok());
  EXPECT_NE(CheckSentence("a {celsius}").message().find("celsius"), std::string::npos);
  EXPECT_FALSE(CheckSentence("a {value").ok());
  EXPECT_FALSE(CheckSentence("a value}").ok());
}

TEST(Sentence, StaysWithinItsBoundOnOneLineWhateverWasMeasured) {
  const std::string hostile = std::string(500, 'x') + "\n\x1b[31m\xff";
  const std::string filled = FillSentence("value {value}", Values(hostile));
  EXPECT_LE(filled.size(), kCauseMessageBytesMax);
  EXPECT_EQ(FillSentence("{value}", Values("a\nb\x1b[31m")).find_first_of("\n\x1b"),
            std::string::npos);
}

TEST(Sentence, MeasuredBracesAreNotFilledAgain) {
  EXPECT_EQ(FillSentence("got {value}", Values("{threshold}")), "got {threshold}");
}

}  // namespace
}  // namespace galen::probes
