#include "tests/mutate/cpp_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::mutate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Statements(const std::string& source) {
  const Code code(source);
  std::vector<std::string> texts;
  for (const Statement& s : code.statements()) {
    texts.push_back((s.declares ? "declares " : "") + std::string(code.Text(s.range)));
  }
  return texts;
}

std::vector<std::string> Conditions(const std::string& source) {
  const Code code(source);
  std::vector<std::string> texts;
  for (const Condition& c : code.conditions()) {
    texts.push_back((c.declares ? "declares " : "") + std::string(code.Text(c.range)));
  }
  return texts;
}

std::vector<std::string> EarlyExits(const std::string& source) {
  const Code code(source);
  std::vector<std::string> texts;
  for (const EarlyExit& e : code.early_exits()) texts.emplace_back(code.Text(e.range));
  return texts;
}

TEST(CppCode, FindsTheStatementsOfFunctionsOnly) {
  EXPECT_THAT(Statements("namespace a {\nconst int k = 1;\nstruct B {\n  int c = 2;\n"
                         "  void D() const { e(); }\n};\nvoid F() {\n  g = 1;\n}\n}"),
              ElementsAre("e();", "g = 1;"));
}

TEST(CppCode, KnowsAConstructorsBodyBehindItsMembers) {
  EXPECT_THAT(Statements("A::A(int b) : b_(b), c_{b} { d(); }"), ElementsAre("d();"));
}

TEST(CppCode, KnowsWhatDeclares) {
  EXPECT_THAT(
      Statements("void F() {\n  const auto a = 1;\n  std::vector<std::map<A, B>> b;\n"
                 "  Entry* c = d;\n  ASSIGN_OR_RETURN(Thing t, Read());\n  auto [x, y] = z;\n"
                 "  a::B c{1};\n}"),
      ElementsAre("declares const auto a = 1;", "declares std::vector<std::map<A, B>> b;",
                  "declares Entry* c = d;", "declares ASSIGN_OR_RETURN(Thing t, Read());",
                  "declares auto [x, y] = z;", "declares a::B c{1};"));
}

TEST(CppCode, KnowsWhatDoesNotDeclare) {
  EXPECT_THAT(
      Statements("void F() { a->b = c; ++d; *e = f; std::swap(a, b); g[1] = {2}; return; }"),
      ElementsAre("a->b = c;", "++d;", "*e = f;", "std::swap(a, b);", "g[1] = {2};", "return;"));
}

TEST(CppCode, FindsStatementsThatAnIfOrALoopGoverns) {
  EXPECT_THAT(Statements("void F() {\n  if (a) b();\n  else if (c) { d(); }\n  else e();\n"
                         "  for (int i = 0; i < 3; ++i) f();\n  do g(); while (h);\n"
                         "  switch (i) {\n    case kOne: j();\n    default: k();\n  }\n"
                         "  try { l(); } catch (const E& e) { m(); }\n}"),
              ElementsAre("b();", "d();", "e();", "f();", "g();", "j();", "k();", "l();", "m();"));
}

TEST(CppCode, FindsStatementsInLambdas) {
  EXPECT_THAT(Statements("void F() { a([this] { b(); }, [](int c) -> D { e(); }); }"),
              ElementsAre("b();", "e();", "a([this] { b(); }, [](int c) -> D { e(); });"));
}

TEST(CppCode, TakesAListOfValuesForNoBody) {
  EXPECT_THAT(Statements("void F() { a(B{.c = 1, .d = {2}}); }"),
              ElementsAre("a(B{.c = 1, .d = {2}});"));
}

TEST(CppCode, FindsWhatDecides) {
  EXPECT_THAT(Conditions("void F() {\n  if (a && b) c();\n  while (!d) e();\n"
                         "  for (int i = 0; i < n; ++i) f();\n  for (const auto& g : h) i();\n"
                         "  for (;;) j();\n  switch (k) {}\n"
                         "  if (const auto it = l.find(m); it != l.end()) n();\n"
                         "  if (auto* o = p()) q();\n}"),
              ElementsAre("a && b", "!d", "i < n", "it != l.end()", "declares auto* o = p()"));
}

TEST(CppCode, FindsEarlyExits) {
  EXPECT_THAT(EarlyExits("int F() { if (a) return 1; for (;;) { if (b) { continue; } c(); } }"),
              ElementsAre("if (a) return 1;", "if (b) { continue; }"));
}

TEST(CppCode, TakesNoExitWithAnElseForAnEarlyOne) {
  EXPECT_THAT(EarlyExits("int F() { if (a) return 1; else b(); }"), IsEmpty());
  EXPECT_THAT(EarlyExits("int F() { if (a) b(); else if (c) return 1; }"), IsEmpty());
  EXPECT_THAT(EarlyExits("int F() { if (a) { b(); return 1; } }"), IsEmpty());
}

TEST(CppCode, NumbersNeighboursInTheirBlock) {
  const Code code("void F() { a(); if (b) c(); d(); e(); }");
  ASSERT_EQ(code.statements().size(), 4u);
  const auto& [a, c, d, e] = std::tie(code.statements()[0], code.statements()[1],
                                      code.statements()[2], code.statements()[3]);
  EXPECT_EQ(a.block, d.block);
  EXPECT_NE(a.block, c.block);
  EXPECT_EQ(d.place, a.place + 2) << "the if stands between them";
  EXPECT_EQ(e.place, d.place + 1);
}

}  // namespace
}  // namespace galen::mutate
