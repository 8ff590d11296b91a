#include "base/path.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(ParentOf, NamesTheDirectory) {
  EXPECT_EQ(ParentOf("/run/galen/agent.sock"), "/run/galen");
  EXPECT_EQ(ParentOf("galen/agent.sock"), "galen");
  EXPECT_EQ(ParentOf("/run/"), "/run");
}

TEST(ParentOf, IsTheRootOrHereWhereThereIsNoOther) {
  EXPECT_EQ(ParentOf("/agent.sock"), "/");
  EXPECT_EQ(ParentOf("/"), "/");
  EXPECT_EQ(ParentOf("agent.sock"), ".");
  EXPECT_EQ(ParentOf(""), ".");
}

}  // namespace
}  // namespace galen
