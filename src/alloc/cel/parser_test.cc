#include "alloc/cel/parser.h"

#include <gtest/gtest.h>

namespace galen::alloc::cel {
namespace {

// The tree in brackets, operators in front: "(_+_ 1 (_*_ 2 3))".
std::string TreeOf(const Expression& expression) {
  using K = Expression::Kind;
  std::string name = expression.text;
  switch (expression.kind) {
    case K::kConstant:
    case K::kName:
      return name;
    case K::kSelect:
      name = (expression.test_only ? "has." : ".") + name;
      break;
    case K::kIndex:
      name = "[]";
      break;
    case K::kAnd:
      name = "&&";
      break;
    case K::kOr:
      name = "||";
      break;
    case K::kConditional:
      name = "?:";
      break;
    case K::kList:
      name = "list";
      break;
    case K::kMap:
      name = "map";
      break;
    case K::kMarked:
      name = "?";
      break;
    case K::kMessage:
      name = "message";
      break;
    case K::kFold:
      name += " " + expression.variable + expression.second_variable;
      break;
    case K::kBind:
      name = "bind " + expression.variable;
      break;
    case K::kOptionalMap:
      name = "optMap " + expression.variable;
      break;
    default:
      break;
  }
  if (expression.optional) name = "?" + name;
  std::string tree = "(" + name;
  for (const ExpressionPointer& child : expression.children) tree += " " + TreeOf(*child);
  return tree + ")";
}

std::string Tree(std::string_view text) {
  const auto expression = Parse(text);
  return expression.ok() ? TreeOf(**expression) : expression.status().message();
}

TEST(Parser, BindsOperatorsByPrecedence) {
  EXPECT_EQ(Tree("1 + 2 * 3 - 4"), "(_-_ (_+_ 1 (_*_ 2 3)) 4)");
  EXPECT_EQ(Tree("(1 + 2) * 3"), "(_*_ (_+_ 1 2) 3)");
  EXPECT_EQ(Tree("a || b && c || d"), "(|| a (&& b c) d)");
  EXPECT_EQ(Tree("a ? b : c ? d : e"), "(?: a b (?: c d e))");
  EXPECT_EQ(Tree("a + 1 == b && c in d"), "(&& (_==_ (_+_ a 1) b) (@in c d))");
  EXPECT_EQ(Tree("a < b == c"), "(_==_ (_<_ a b) c)");
}

TEST(Parser, CountsSigns) {
  EXPECT_EQ(Tree("!!a"), "a");
  EXPECT_EQ(Tree("!!!a"), "(!_ a)");
  EXPECT_EQ(Tree("--a"), "a");
  EXPECT_EQ(Tree("-a.b"), "(-_ (.b a))");
  EXPECT_EQ(Parse("-9223372036854775808").value()->constant.integer(), INT64_MIN);
  EXPECT_FALSE(Parse("9223372036854775808").ok());
}

TEST(Parser, SelectsIndexesAndCalls) {
  EXPECT_EQ(Tree("a.b[c].d(e, f)"), "(d ([] (.b a) c) e f)");
  EXPECT_EQ(Tree("a.?b[?0]"), "(?[] (?.b a) 0)");
  EXPECT_EQ(Tree("f()"), "(f)");
  EXPECT_EQ(Tree(".a.b"), "(.b .a)");
  // Reserved for variables, not for fields.
  EXPECT_EQ(Tree("a.package"), "(.package a)");
  EXPECT_EQ(Tree("a.`b-c`"), "(.b-c a)");
}

TEST(Parser, ReadsListsAndMaps) {
  EXPECT_EQ(Tree("[1, 2,]"), "(list 1 2)");
  EXPECT_EQ(Tree("[]"), "(list)");
  EXPECT_EQ(Tree("[,]"), "(list)");
  EXPECT_EQ(Tree("[?a, b]"), "(list (? a) b)");
  EXPECT_EQ(Tree("{a: 1, ?b: 2,}"), "(map a 1 b (? 2))");
  EXPECT_EQ(Tree("{}"), "(map)");
  EXPECT_EQ(Tree("A.b{c: 1}"), "(message (.b A) 1)");
}

TEST(Parser, RecognizesMacros) {
  EXPECT_EQ(Tree("has(a.b)"), "(has.b a)");
  EXPECT_EQ(Tree("a.all(x, x > 1)"), "(all x a (_>_ x 1))");
  EXPECT_EQ(Tree("a.exists(x, y, y)"), "(exists xy a y)");
  EXPECT_EQ(Tree("a.map(x, y, z)"), "(map x a y z)");
  EXPECT_EQ(Tree("cel.bind(x, 1, x)"), "(bind x 1 x)");
  EXPECT_EQ(Tree("a.optMap(x, x)"), "(optMap x a x)");
  // As many arguments as no macro has.
  EXPECT_EQ(Tree("a.all(x)"), "(all a x)");
  EXPECT_EQ(Tree("b.bind(x, 1, x)"), "(bind b x 1 x)");
}

TEST(Parser, RefusesMacrosWithoutVariables) {
  for (const char* text : {"has(a)", "has(a.?b)", "has(a['b'])", "a.all(1, true)",
                           "a.all(x.y, true)", "a.all(x, x, true)", "a.map(__result__, 1)",
                           "cel.bind(1, 1, 1)", "a.optMap(1, 1)", "a.all(.x, true)"}) {
    EXPECT_FALSE(Parse(text).ok()) << text;
  }
}

TEST(Parser, RefusesWhatIsNotCel) {
  for (const char* text : {"",
                           "?!",
                           "a b",
                           "a +",
                           "(a",
                           "a)",
                           "[1",
                           "[1,,2]",
                           "{a}",
                           "{a: }",
                           "a.",
                           "a.1",
                           "a.true",
                           "f(1,)",
                           "a ? b",
                           "for",
                           "package.a",
                           "if(a)",
                           "1 2",
                           "a.?b(c)",
                           "in",
                           "a.in",
                           "99999999999999999999u",
                           "1e999"}) {
    EXPECT_FALSE(Parse(text).ok()) << text;
  }
}

std::string Repeated(std::string_view text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Parser, RefusesWhatIsNestedTooDeep) {
  EXPECT_TRUE(Parse(Repeated("(", 200) + "1" + Repeated(")", 200)).ok());
  EXPECT_FALSE(Parse(Repeated("(", 1000) + "1" + Repeated(")", 1000)).ok());
  EXPECT_FALSE(Parse(Repeated("[", 5000)).ok());
  EXPECT_TRUE(Parse("1" + Repeated(" + 1", 200)).ok());
  EXPECT_FALSE(Parse("1" + Repeated(" + 1", 1000)).ok());
  EXPECT_FALSE(Parse("a" + Repeated(".a", 1000)).ok());
  // These lie side by side.
  EXPECT_TRUE(Parse("a" + Repeated(" && a", 1000)).ok());
}

}  // namespace
}  // namespace galen::alloc::cel
