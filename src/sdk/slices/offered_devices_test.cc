// What of the inventory is published where devices are withdrawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/slices/test_slice_publisher.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using OfferedDevicesTest = SlicePublisherTest;

Inventory OfferedWhereTaintsCount() {
  Inventory inventory = TaintedAndShared();
  inventory[0].offered = Device::Offered::kWhereTaintsCount;
  return inventory;
}

TEST_F(OfferedDevicesTest, WhereTaintsCountATaintedDeviceStays) {
  auto publisher = MakePublisher();
  publisher->SetInventory(OfferedWhereTaintsCount());
  publisher->Start();
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(2));
  EXPECT_EQ(cluster_.wire().writes(), 1);
}

TEST_F(OfferedDevicesTest, WhereTaintsAreDroppedATaintedDeviceIsWithdrawnForGood) {
  cluster_.wire().Drop("taints");
  auto publisher = MakePublisher();
  publisher->SetInventory(OfferedWhereTaintsCount());
  publisher->Start();
  node_.loop.Advance(60s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(1));
  EXPECT_EQ(cluster_.wire().writes(), 2) << "with the device, then without";
  EXPECT_TRUE(publisher->settled());
  ASSERT_THAT(lines_, SizeIs(2));
  EXPECT_THAT(lines_[0], HasSubstr("tainted devices are withdrawn"));
  // The device is never offered for a moment at the next change of another one.
  Inventory more = OfferedWhereTaintsCount();
  more.push_back({.name = "fpga-70"});
  publisher->SetInventory(more);
  node_.loop.Advance(60s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(2));
  EXPECT_EQ(cluster_.wire().writes(), 3);
  EXPECT_THAT(lines_, SizeIs(2)) << "logged once";
  more[0].offered = Device::Offered::kAlways;
  publisher->SetInventory(more);
  node_.loop.Advance(60s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(3)) << "well again";
}

// What shows it is the answer with which a look ends.
TEST_F(OfferedDevicesTest, IsNotSettledUntilWhatIsToBeWithdrawnIs) {
  cluster_.wire().Drop("taints");
  cluster_.wire().HoldAnswers();
  auto publisher = MakePublisher();
  publisher->SetInventory(OfferedWhereTaintsCount());
  publisher->Start();
  node_.loop.Advance(1s);
  cluster_.wire().GoAway(true);
  cluster_.wire().LetAnswersPass();
  node_.loop.Advance(60s);
  ASSERT_THAT(cluster_.Slices().at(0).devices, SizeIs(2));
  EXPECT_FALSE(publisher->settled());
}

}  // namespace
}  // namespace galen::sdk
