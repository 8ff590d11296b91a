#include "tests/mutate/cpp_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace galen::mutate {
namespace {

using testing::ElementsAre;

std::vector<std::string> Texts(std::string_view source) {
  std::vector<std::string> texts;
  for (const Token& token : TokensOf(source)) texts.emplace_back(token.text);
  return texts;
}

TEST(CppTokens, LeaveOutCommentsOfBothKinds) {
  EXPECT_THAT(Texts("a // if (x) y;\n/* b /* \n c */ d"), ElementsAre("a", "d"));
}

TEST(CppTokens, LeaveOutPreprocessorLinesAndTheLinesThatTheyGoOnIn) {
  EXPECT_THAT(Texts("#include <a>\na\n  #define X(y) \\\n  y += 1\nb"), ElementsAre("a", "b"));
}

TEST(CppTokens, KeepATextWhole) {
  EXPECT_THAT(
      Texts(R"(f("a // \" b", 'c', '\'', u8"d"))"),
      ElementsAre("f", "(", R"("a // \" b")", ",", "'c'", ",", R"('\'')", ",", "u8\"d\"", ")"));
}

TEST(CppTokens, KeepARawTextWholeThoughItHoldsQuotesAndBrackets) {
  EXPECT_THAT(Texts("R\"x(a \" )\" b)x\" + c"), ElementsAre("R\"x(a \" )\" b)x\"", "+", "c"));
}

TEST(CppTokens, KeepSignsOfSeveralCharactersTogether) {
  EXPECT_THAT(Texts("a->b+=c<=d&&e!=f"),
              ElementsAre("a", "->", "b", "+=", "c", "<=", "d", "&&", "e", "!=", "f"));
}

TEST(CppTokens, EndTemplatesWithASignEach) {
  EXPECT_THAT(Texts("a<b<c>>"), ElementsAre("a", "<", "b", "<", "c", ">", ">"));
}

TEST(CppTokens, KeepANumberWhole) {
  EXPECT_THAT(Texts("1'000+0x1e+1+1.5e-3+0x1p-53"),
              ElementsAre("1'000", "+", "0x1e", "+", "1", "+", "1.5e-3", "+", "0x1p-53"));
}

TEST(CppTokens, NameThePlaceInTheSource) {
  const std::vector<Token> tokens = TokensOf("a // b\n  cd");
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[1].begin, 9u);
  EXPECT_EQ(tokens[1].end(), 11u);
}

TEST(CppTokens, OfATextWithoutAnEndAreNoError) {
  EXPECT_THAT(Texts("a \"b"), ElementsAre("a", "\"b"));
  EXPECT_THAT(Texts("a R\"b"), ElementsAre("a"));
  EXPECT_THAT(Texts("a /* b"), ElementsAre("a"));
  EXPECT_THAT(Texts("'\\"), ElementsAre("'\\"));
}

TEST(CppTokens, OfBracketsKnowTheirPartners) {
  EXPECT_THAT(PartnersOf(TokensOf("f({a}, \"(\")")), ElementsAre(0, 7, 4, 3, 4, 5, 6, 7));
  EXPECT_THAT(PartnersOf(TokensOf(") ( {")), ElementsAre(0, 1, 2)) << "nobody closes them";
}

}  // namespace
}  // namespace galen::mutate
