#include "cli/why.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

TEST(Why, TakesAPodInTheThreeWaysPeopleWriteIt) {
  EXPECT_EQ(*ParsePod("trainer-0", "train"), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("pod/trainer-0", "train"), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("train/trainer-0", ""), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("trainer-0", ""), (ObjectKey{"", "trainer-0"}));
}

TEST(Why, RefusesWhatNamesNoPod) {
  for (const std::string text : {"", "pod/", "a/b/c"}) {
    EXPECT_EQ(ParsePod(text, "").status().code(), Code::kInvalidArgument) << text;
  }
  const auto elsewhere = ParsePod("serve/llm-0", "train");
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.status().message().find("train"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
