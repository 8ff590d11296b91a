#include "alloc/cel/lexer.h"

#include <gtest/gtest.h>

namespace galen::alloc::cel {
namespace {

// Kinds and texts of all tokens but the last: "n:a s:== i:1".
std::string Tokens(std::string_view text) {
  const auto tokens = Tokenize(text);
  if (!tokens.ok()) return tokens.status().message();
  std::string shown;
  for (const Token& token : *tokens) {
    static constexpr char kLetters[] = ".nqiudbBs";
    if (token.kind == Token::Kind::kEnd) continue;
    if (!shown.empty()) shown += ' ';
    const char letter = token.kind == Token::Kind::kBytes    ? 'B'
                        : token.kind == Token::Kind::kString ? 't'
                        : token.kind == Token::Kind::kSymbol
                            ? 's'
                            : kLetters[static_cast<std::size_t>(token.kind)];
    shown += letter + (":" + token.text);
  }
  return shown;
}

TEST(Lexer, CutsOperatorsAsLongAsTheyAre) {
  EXPECT_EQ(Tokens("a<=b&&!c||d!=-1"), "n:a s:<= n:b s:&& s:! n:c s:|| n:d s:!= s:- i:1");
  EXPECT_EQ(Tokens("a.?b[?c]"), "n:a s:. s:? n:b s:[ s:? n:c s:]");
}

TEST(Lexer, ReadsNumbersOfAllKinds) {
  EXPECT_EQ(Tokens("1 0x1F 2u 0xFFU 1.5 .5 1e3 1.5E-3 1.x"),
            "i:1 i:0x1F u:2u u:0xFFU d:1.5 d:.5 d:1e3 d:1.5E-3 i:1 s:. n:x");
}

TEST(Lexer, ReadsStringsOfAllKinds) {
  EXPECT_EQ(Tokens(R"("a\"b" 'c"d')"), R"(t:a"b t:c"d)");
  EXPECT_EQ(Tokens(R"(r"a\n" R'\')"), R"(t:a\n t:\)");
  EXPECT_EQ(Tokens("'''a\n'b''' \"\"\"c\"\"\" ''"), "t:a\n'b t:c t:");
  EXPECT_EQ(Tokens(R"(b"\x41" B'b' bR"\x41" rb)"), R"(B:A B:b B:\x41 n:rb)");
}

TEST(Lexer, ReadsNamesInBackticks) { EXPECT_EQ(Tokens("a.`b-c/d`"), "n:a s:. q:b-c/d"); }

TEST(Lexer, PassesOverSpaceAndComments) {
  EXPECT_EQ(Tokens(" a // b\n\t+\r\n c//"), "n:a s:+ n:c");
}

TEST(Lexer, KnowsWhereTokensAre) {
  const auto tokens = Tokenize("ä\n 'ü' b").status();
  EXPECT_EQ(tokens.message(), "1:1: a character that no expression has");
  const std::vector<Token> lines = Tokenize("'ü' b\n  c").value();
  EXPECT_EQ(ToString(lines[1].position), "1:5");
  EXPECT_EQ(ToString(lines[2].position), "2:3");
}

TEST(Lexer, RefusesWhatIsNoToken) {
  for (const char* text :
       {"'a", "'a\nb'", "\"\"\"a\"", R"('\q')", "a = b", "a & b", "a | b", "#", "``", "`a", "`ä`",
        R"('\x4')", R"('\u12')", R"(b'\u0041')", R"('\ud800')"}) {
    EXPECT_FALSE(Tokenize(text).ok()) << text;
  }
}

}  // namespace
}  // namespace galen::alloc::cel
