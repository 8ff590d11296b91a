#include "model/taint.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(TaintEffect, ReadsWhatItWrites) {
  for (const TaintEffect effect :
       {TaintEffect::kNone, TaintEffect::kNoSchedule, TaintEffect::kNoExecute}) {
    EXPECT_EQ(ParseTaintEffect(ToString(effect)), effect);
  }
  EXPECT_EQ(ToString(TaintEffect::kNoExecute), "NoExecute");
}

TEST(TaintEffect, UnknownEffectActsAsNone) {
  EXPECT_EQ(ParseTaintEffect("NoBreathing"), TaintEffect::kNone);
  EXPECT_EQ(ParseTaintEffect("noexecute"), TaintEffect::kNone);
  EXPECT_EQ(ParseTaintEffect(""), TaintEffect::kNone);
}

TEST(DeviceTaint, TimeItWasAddedBelongsToIt) {
  const DeviceTaint taint{"example.com/broken", "yes", TaintEffect::kNoSchedule, std::nullopt};
  DeviceTaint later = taint;
  EXPECT_EQ(taint, later);
  later.added = WallTime(std::chrono::seconds(1));
  EXPECT_NE(taint, later);
}

}  // namespace
}  // namespace galen
