#include "base/data/fnv1a.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

// From the test vectors of the algorithm's authors.
TEST(Fnv1a, FollowsTheExamplesOfItsAuthors) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(Fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8U);
}

TEST(Fnv1a, GoesOnWhereItStopped) {
  EXPECT_EQ(Fnv1a("bar", Fnv1a("foo")), Fnv1a("foobar"));
  EXPECT_NE(Fnv1a(std::string_view("\0", 1)), Fnv1a(""));
}

}  // namespace
}  // namespace galen
