#include "alloc/cel/library/signature.h"

#include <gtest/gtest.h>

namespace galen::alloc::cel {
namespace {

TEST(Signature, ReadsArgumentsAndResult) {
  TypePool pool;
  const Signature signature = ParseSignature("(string, list<dyn>, map<string, int>) bool", pool);
  ASSERT_EQ(signature.arguments.size(), 3u);
  EXPECT_EQ(ToString(*signature.arguments[1]), "list(dyn)");
  EXPECT_EQ(ToString(*signature.arguments[2]), "map(string, int)");
  EXPECT_EQ(ToString(*signature.result), "bool");
  EXPECT_EQ(signature.variables, 0u);
}

TEST(Signature, NumbersTheTypesThatACallDecides) {
  TypePool pool;
  const Signature signature = ParseSignature("(optional<map<A, B>>, A) optional<B>", pool);
  EXPECT_EQ(signature.variables, 2u);
  EXPECT_EQ(signature.arguments[1]->variable, 0u);
  EXPECT_EQ(signature.result->parameters[0]->variable, 1u);
  EXPECT_TRUE(ParseSignature("() optional<A>", pool).arguments.empty());
}

}  // namespace
}  // namespace galen::alloc::cel
