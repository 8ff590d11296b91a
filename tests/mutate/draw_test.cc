#include "tests/mutate/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace galen::mutate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<SourceText>& Sources() {
  static const std::vector<SourceText> kSources = {
      {"src/a/b.cc", "void F() {\n  a(1);\n  b(2);\n  if (c <\n      d) e += 3;\n}\n"},
      {"src/a/c.cc", "int G() {\n  return a.uid == b.uid ? 1 : std::max(c, d.front());\n}\n"}};
  return kSources;
}

std::vector<std::string> Names(const std::vector<Fault>& faults) {
  std::vector<std::string> names;
  for (const Fault& f : faults) {
    names.push_back(f.path + ":" + std::to_string(f.line) + " " + f.kind + ": " + f.after);
  }
  return names;
}

// Written down, since another machine, compiler or year must draw the same.
TEST(Draw, GivesTheSameFaultsForASeedForEver) {
  EXPECT_THAT(
      Names(Draw(Sources(), "a", 7, 4)),
      ElementsAre(
          "src/a/b.cc:2 statement gone: ;", "src/a/b.cc:3 statement gone: ;",
          "src/a/c.cc:2 greatest taken: return a.uid == b.uid ? 1 : std::min(c, d.front());",
          "src/a/b.cc:5 sum assigned: d) e = 3;"));
}

TEST(Draw, AddsToASmallerSample) {
  const auto all = Names(Draw(Sources(), "a", 3, 1000));
  for (std::size_t count = 0; count < all.size(); ++count) {
    EXPECT_EQ(Names(Draw(Sources(), "a", 3, count)),
              (std::vector<std::string>(all.begin(), all.begin() + static_cast<int>(count))));
  }
}

TEST(Draw, GivesEachFaultOnceAndEndsWhenThereAreNoMore) {
  const auto all = Draw(Sources(), "a", 1, 1000);
  std::set<std::string> sources;
  for (const Fault& fault : all) sources.insert(fault.source);
  EXPECT_THAT(all, SizeIs(11));
  EXPECT_THAT(sources, SizeIs(11));
}

TEST(Draw, DependsOnSeedAndRoom) {
  const auto names = Names(Draw(Sources(), "a", 1, 5));
  EXPECT_NE(names, Names(Draw(Sources(), "a", 2, 5)));
  EXPECT_NE(names, Names(Draw(Sources(), "b", 1, 5)));
}

TEST(Draw, ShowsTheWholeLinesBeforeAndAfter) {
  for (const Fault& fault : Draw(Sources(), "a", 1, 1000)) {
    if (fault.kind != "condition negated" || fault.path != "src/a/b.cc") continue;
    EXPECT_EQ(fault.line, 4u);
    EXPECT_EQ(fault.before, "if (c < d) e += 3;");
    EXPECT_EQ(fault.after, "if (!(c < d)) e += 3;");
    EXPECT_EQ(fault.source, "void F() {\n  a(1);\n  b(2);\n  if (!(c <\n      d)) e += 3;\n}\n");
    return;
  }
  FAIL() << "not drawn";
}

TEST(Draw, OfNothingIsNothing) {
  EXPECT_THAT(Draw({}, "a", 1, 5), IsEmpty());
  EXPECT_THAT(Draw({{"src/a/a.cc", "const int kA = 1;\n"}}, "a", 1, 5), IsEmpty());
}

}  // namespace
}  // namespace galen::mutate
