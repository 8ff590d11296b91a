#include "api_sim/storage/event_expiry.h"

#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"

namespace galen::api_sim {
namespace {

using std::chrono::minutes;

class EventExpiryTest : public testing::Test {
 protected:
  void Put(const std::string& name) {
    store_.Put(
        "/events", {"d", name},
        Json::MakeObject({{"metadata", Json::MakeObject({{"namespace", "d"}, {"name", name}})}}));
  }
  bool Has(const std::string& name) const { return store_.Get("/events", {"d", name}) != nullptr; }

  FakeLoop loop_;
  ObjectStore store_{{}};
};

TEST_F(EventExpiryTest, RemovesAnEventAnHourAfterItsLastWrite) {
  const EventExpiry expiry(loop_, store_);
  Put("once");
  Put("again");
  loop_.Advance(minutes(40));
  Put("again");
  loop_.Advance(minutes(20));
  EXPECT_FALSE(Has("once"));
  EXPECT_TRUE(Has("again"));
  loop_.Advance(minutes(40));
  EXPECT_FALSE(Has("again"));
}

TEST_F(EventExpiryTest, CountsEventsFromBeforeAsNew) {
  Put("old");
  const EventExpiry expiry(loop_, store_);
  loop_.Advance(minutes(59));
  EXPECT_TRUE(Has("old"));
  loop_.Advance(minutes(1));
  EXPECT_FALSE(Has("old"));
}

TEST_F(EventExpiryTest, RemovesTheOldestWhenThereAreTooMany) {
  const EventExpiry expiry(loop_, store_);
  for (std::size_t i = 0; i < EventExpiry::kEventsMax + 5; ++i) Put("e" + std::to_string(i));
  loop_.RunUntilIdle();
  EXPECT_EQ(store_.List("/events", "").size(), EventExpiry::kEventsMax);
  EXPECT_FALSE(Has("e4"));
  EXPECT_TRUE(Has("e5"));
}

TEST_F(EventExpiryTest, WakesNobodyWithoutEvents) {
  const EventExpiry expiry(loop_, store_);
  EXPECT_EQ(loop_.waiting(), 0u);
}

}  // namespace
}  // namespace galen::api_sim
