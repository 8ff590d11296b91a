#include "base/liveness.h"

#include <gtest/gtest.h>

#include <memory>

namespace galen {
namespace {

TEST(Liveness, WatchKnowsWhetherItsObjectIsStillThere) {
  auto object = std::make_unique<Liveness>();
  Liveness::Watch watch(*object);
  EXPECT_TRUE(watch.alive());
  object.reset();
  EXPECT_FALSE(watch.alive());
}

TEST(Liveness, NestedWatchesAllSeeTheEnd) {
  auto object = std::make_unique<Liveness>();
  Liveness::Watch outer(*object);
  {
    Liveness::Watch inner(*object);
    object.reset();
    EXPECT_FALSE(inner.alive());
  }
  EXPECT_FALSE(outer.alive());
}

TEST(Liveness, EndedWatchIsForgotten) {
  auto object = std::make_unique<Liveness>();
  Liveness::Watch outer(*object);
  {
    Liveness::Watch inner(*object);
  }
  EXPECT_TRUE(outer.alive());
  object.reset();  // must not touch the inner one
  EXPECT_FALSE(outer.alive());
}

}  // namespace
}  // namespace galen
