#include "tests/mutate/fault_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::mutate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The bodies that a kind of fault makes of a function's body.
std::vector<std::string> Faults(std::vector<Change> (*kind)(const Code&), const std::string& body) {
  const std::string head = "void F() { ";
  const Code code(head + body + " }");
  std::vector<std::string> bodies;
  for (const Change& change : kind(code)) {
    std::string text = code.source();
    text.replace(change.begin, change.length, change.after);
    bodies.push_back(text.substr(head.size(), text.size() - head.size() - 2));
  }
  return bodies;
}

TEST(StatementsGone, AreThoseThatDeclareNothing) {
  EXPECT_THAT(Faults(StatementsGone, "int a = b(); c(a); d = a;"),
              ElementsAre("int a = b(); ; d = a;", "int a = b(); c(a); ;"));
}

TEST(StatementsGone, AreEarlyExitsToo) {
  EXPECT_THAT(Faults(StatementsGone, "if (a) return; b();"),
              ElementsAre("if (a) return; ;", "; b();"));
}

TEST(StatementsGone, AreNoneThatNobodyMisses) {
  EXPECT_THAT(Faults(StatementsGone, "log_.Warning(\"a\"); GALEN_CHECK(b); c.reserve(3);"),
              IsEmpty());
}

TEST(StatementsGone, AreNotReturnsThatAFunctionMustHave) {
  EXPECT_THAT(Faults(StatementsGone, "return a;"), IsEmpty());
}

TEST(ConditionsNegated, AreThoseOfIfsAndLoopsAsAWhole) {
  EXPECT_THAT(Faults(ConditionsNegated, "if (a == b) c(); while (d || e) f();"),
              ElementsAre("if (!(a == b)) c(); while (d || e) f();",
                          "if (a == b) c(); while (!(d || e)) f();"));
}

TEST(ConditionsNegated, AreNotThoseThatDeclare) {
  EXPECT_THAT(Faults(ConditionsNegated, "if (auto* a = b()) c();"), IsEmpty());
}

TEST(ConditionsNegated, AreComparisonsElsewhereToo) {
  EXPECT_THAT(Faults(ConditionsNegated, "return a == b && c != d;"),
              ElementsAre("return a != b && c != d;", "return a == b && c == d;"));
}

TEST(BoundsOffByOne, AreComparisonsAndNotTemplates) {
  EXPECT_THAT(Faults(BoundsOffByOne, "std::vector<int> a; return b < c && d >= e;"),
              ElementsAre("std::vector<int> a; return b <= c && d >= e;",
                          "std::vector<int> a; return b < c && d > e;"));
}

TEST(BoundsOffByOne, AreOnesAddedAndTakenAway) {
  EXPECT_THAT(Faults(BoundsOffByOne, "a(b + 1, c - 1, -1, d + 10);"),
              ElementsAre("a(b , c - 1, -1, d + 10);", "a(b + 1, c , -1, d + 10);"));
}

TEST(BoundsOffByOne, AreNoneOutsideOfFunctions) {
  EXPECT_THAT(BoundsOffByOne(Code("constexpr bool kA = kB < kC;\n")), IsEmpty());
}

TEST(SumsAssigned, ForgetWhatWasThere) {
  EXPECT_THAT(
      Faults(SumsAssigned, "a += 1; b |= c; d -= 2;"),
      ElementsAre("a = 1; b |= c; d -= 2;", "a += 1; b = c; d -= 2;", "a += 1; b |= c; d = 2;"));
}

TEST(GreatestTaken, IsTheLeastInstead) {
  EXPECT_THAT(Faults(GreatestTaken, "return std::max(a, b);"),
              ElementsAre("return std::min(a, b);"));
}

TEST(GreatestTaken, IsTheLatestInstead) {
  EXPECT_THAT(Faults(GreatestTaken, "a.b = std::max(a.b, c(1, 2)); d = std::min(e, f);"),
              ElementsAre("a.b = std::min(a.b, c(1, 2)); d = std::min(e, f);",
                          "a.b = c(1, 2); d = std::min(e, f);",
                          "a.b = std::max(a.b, c(1, 2)); d = std::max(e, f);"));
}

TEST(EndsSwapped, TakeTheOtherEnd) {
  EXPECT_THAT(Faults(EndsSwapped, "a.front().b = c; d.lower_bound(e); f.find_last_of('g');"),
              ElementsAre("a.back().b = c; d.lower_bound(e); f.find_last_of('g');",
                          "a.front().b = c; d.upper_bound(e); f.find_last_of('g');",
                          "a.front().b = c; d.lower_bound(e); f.find_first_of('g');"));
}

TEST(EndsSwapped, AreNoneWhereOnlyTheAnswerWhetherCounts) {
  EXPECT_THAT(Faults(EndsSwapped, "return a.find_first_of(b) != std::string_view::npos;"),
              IsEmpty());
}

TEST(UidsNotCompared, AreTheSameWhatever) {
  EXPECT_THAT(Faults(UidsNotCompared, "return a->meta.uid == b(c).uid && d == e;"),
              ElementsAre("return true && d == e;"));
  EXPECT_THAT(Faults(UidsNotCompared, "if (!a || holders[0].uid != pod_uid) return;"),
              ElementsAre("if (!a || false) return;"));
  EXPECT_THAT(Faults(UidsNotCompared, "same |= a.meta.uid == b.uid;"),
              ElementsAre("same |= true;"));
}

TEST(ErasesGone, AreWhatRemoves) {
  EXPECT_THAT(Faults(ErasesGone, "a.erase(b); it = c.erase(it); if (d) e->clear(); Forget(f);"),
              ElementsAre("; it = c.erase(it); if (d) e->clear(); Forget(f);",
                          "a.erase(b); it = c.erase(it); if (d) ; Forget(f);",
                          "a.erase(b); it = c.erase(it); if (d) e->clear(); ;"));
}

TEST(ErasesGone, AreDrawnAsOneKindOnly) {
  EXPECT_THAT(Faults(StatementsGone, "a.erase(b);"), IsEmpty());
}

TEST(CallsSwapped, AreNeighboursOfOneBlock) {
  EXPECT_THAT(Faults(CallsSwapped, "a(); b(1); if (c) d(); e();"),
              ElementsAre("b(1); a(); if (c) d(); e();"));
}

TEST(CallsSwapped, AreNoAssignmentsAndNoTwins) {
  EXPECT_THAT(Faults(CallsSwapped, "a = b(); c(); c();"), IsEmpty());
}

TEST(FaultKinds, TouchNoTextNoCommentAndNoPreprocessorLine) {
  const Code code(
      "#define A(b) if (b == 1) c += 2;\n// if (a < b) c();\n"
      "void F() {\n  const char* d = \"e += f < g; h.erase(i)\";  /* if (j) k(); */\n}\n");
  for (const FaultKind& kind : FaultKinds()) EXPECT_THAT(kind.find(code), IsEmpty()) << kind.name;
}

TEST(FaultKinds, AreAllInTheList) {
  std::vector<std::string> names;
  for (const FaultKind& kind : FaultKinds()) names.emplace_back(kind.name);
  EXPECT_THAT(names, ElementsAre("statement gone", "condition negated", "bound off by one",
                                 "sum assigned", "greatest taken", "first and last swapped",
                                 "UID not compared", "erase gone", "calls swapped"));
}

}  // namespace
}  // namespace galen::mutate
