#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "sdk/slices/slice_publisher.h"

namespace galen::sdk {
namespace {

const SliceScope kScope{.driver = "fpga.example.com", .node = "node-7", .pool = "node-7"};
constexpr std::int64_t kMe = 100;

Inventory Devices(std::size_t count) {
  Inventory inventory;
  for (std::size_t i = 0; i < count; ++i)
    inventory.push_back({.name = "fpga-" + std::to_string(i)});
  return inventory;
}

// The API server after `plan` was carried out.
std::map<std::string, PublishedSlice> Apply(std::map<std::string, PublishedSlice> have,
                                            const SlicePlan& plan, std::int64_t publisher = kMe) {
  for (const auto& slice : plan.create) have[slice.name] = {slice, publisher};
  for (const auto& slice : plan.update) have[slice.name] = {slice, publisher};
  for (const auto& slice : plan.remove) have.erase(slice.name);
  return have;
}

std::map<std::string, PublishedSlice> Published(std::size_t devices) {
  return Apply({}, PlanSlices(SlicesOf(kScope, Devices(devices)), {}, 0, kMe));
}

TEST(SlicesOf, OneSliceNamesNodeAndDriver) {
  const auto slices = SlicesOf(kScope, Devices(2));
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].name, "node-7-fpga.example.com-0");
  EXPECT_EQ(slices[0].pool, "node-7");
  EXPECT_EQ(slices[0].slice_count, 1);
  EXPECT_EQ(slices[0].devices.size(), 2u);
}

TEST(SlicesOf, HoldAtMost128Devices) {
  EXPECT_EQ(SlicesOf(kScope, Devices(128)).size(), 1u);
  const auto slices = SlicesOf(kScope, Devices(129));
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].devices.size(), 128u);
  EXPECT_EQ(slices[1].devices.size(), 1u);
  EXPECT_EQ(slices[0].slice_count, 2);
}

TEST(SlicesOf, HoldAtMost64DevicesWithTaints) {
  Inventory inventory = Devices(128);
  inventory[127].taints.push_back({.key = "example.com/x"});
  const auto slices = SlicesOf(kScope, inventory);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].devices.size(), 64u);
  EXPECT_EQ(slices[1].devices[63].taints.size(), 1u);
}

TEST(SlicesOf, HaveOnlyWhatIsOffered) {
  Inventory inventory = Devices(3);
  inventory[0].offered = Device::Offered::kNever;
  inventory[1].offered = Device::Offered::kWhereTaintsCount;
  inventory[1].taints.push_back({.key = "example.com/x"});
  const auto names = [&](bool taints_count) {
    std::string all;
    const auto slices = SlicesOf(kScope, inventory, taints_count);
    for (const auto& device : slices.at(0).devices) {
      all += device.name + " ";
    }
    return all;
  };
  EXPECT_EQ(names(true), "fpga-1 fpga-2 ");
  EXPECT_EQ(names(false), "fpga-2 ");
}

TEST(SlicesOf, NoDevicesAreNone) { EXPECT_TRUE(SlicesOf(kScope, {}).empty()); }

TEST(SlicesOf, LongNamesAreCutAndStayApart) {
  const std::string node(240, 'n');
  const auto one = SlicesOf({.driver = "a.example.com", .node = node, .pool = "p"}, Devices(1));
  const auto two = SlicesOf({.driver = "b.example.com", .node = node, .pool = "p"}, Devices(1));
  EXPECT_LE(one[0].name.size(), 253u);
  EXPECT_NE(one[0].name, two[0].name);
}

TEST(SlicesOf, LongNamesAreSubdomainsWhereverTheyAreCut) {
  for (std::size_t label = 190; label < 210; ++label) {
    const std::string node = std::string(label, 'n') + "." + std::string(240 - label, 'm');
    const auto slices =
        SlicesOf({.driver = "a.example.com", .node = node, .pool = "p"}, Devices(1));
    EXPECT_TRUE(IsDnsSubdomain(slices[0].name)) << slices[0].name;
  }
}

TEST(DroppedFields, AreNoneWhereTheServerGaveATimeAndAnotherFormOfAQuantity) {
  Inventory inventory = Devices(1);
  inventory[0].taints = {{.key = "example.com/x"}};
  inventory[0].capacity["memory"] = "1024Mi";
  const auto sent = SlicesOf(kScope, inventory)[0];
  auto answer = sent;
  answer.devices[0].taints[0].added = WallTime(std::chrono::seconds(1000));
  answer.devices[0].capacity["memory"] = "1Gi";
  EXPECT_TRUE(DroppedFields(sent, answer).empty());
}

// A webhook with its own idea would else have the slice written for ever.
TEST(DroppedFields, AreNeverNoneWhereTheAnswerIsAnother) {
  const auto sent = SlicesOf(kScope, Devices(2))[0];
  auto answer = sent;
  answer.devices.pop_back();
  ASSERT_EQ(DroppedFields(sent, answer).size(), 1u);
  const ReducedSlice reduced{sent, answer};
  EXPECT_FALSE(PlanSlices({sent}, {{sent.name, {answer, kMe}}}, 0, kMe).empty());
  answer.generation = 1;
  EXPECT_TRUE(
      PlanSlices({sent}, {{sent.name, {answer, kMe}}}, 0, kMe, {{sent.name, reduced}}).empty());
}

TEST(PlanSlices, CreatesTheFirstGeneration) {
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, Devices(1)), {}, 0, kMe);
  ASSERT_EQ(plan.create.size(), 1u);
  EXPECT_EQ(plan.create[0].generation, 1);
}

TEST(PlanSlices, WritesNothingWhenNothingChanged) {
  EXPECT_TRUE(PlanSlices(SlicesOf(kScope, Devices(200)), Published(200), 1, kMe).empty());
}

TEST(PlanSlices, WritesNothingAfterARestartWithTheSameDevices) {
  EXPECT_TRUE(PlanSlices(SlicesOf(kScope, Devices(200)), Published(200), 0, kMe + 1).empty());
}

// What an API server makes of a slice: taints have times, quantities another form.
std::map<std::string, PublishedSlice> Normalized(std::map<std::string, PublishedSlice> have) {
  for (auto& [name, published] : have) {
    for (kube::SliceDevice& device : published.slice.devices) {
      for (DeviceTaint& taint : device.taints) taint.added = WallTime(std::chrono::seconds(1000));
      for (auto& [what, amount] : device.capacity) amount = "1Gi";
    }
  }
  return have;
}

Inventory TwoTainted() {
  Inventory inventory = Devices(2);
  for (Device& device : inventory) {
    device.capacity["memory"] = "1024Mi";
    device.taints = {{.key = "example.com/x"}};
  }
  return inventory;
}

TEST(PlanSlices, WritesNothingForWhatTheServerPutsInItsOwnForm) {
  const auto wanted = SlicesOf(kScope, TwoTainted());
  const auto have = Normalized(Apply({}, PlanSlices(wanted, {}, 0, kMe)));
  EXPECT_TRUE(PlanSlices(wanted, have, 1, kMe).empty());
}

TEST(PlanSlices, ATaintThatStaysKeepsItsTimeWhenTheSliceChanges) {
  Inventory inventory = TwoTainted();
  const auto have = Normalized(Apply({}, PlanSlices(SlicesOf(kScope, inventory), {}, 0, kMe)));
  inventory[1].taints[0].effect = Taint::Effect::kNoExecute;
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, inventory), have, 1, kMe);
  ASSERT_EQ(plan.update.size(), 1u);
  EXPECT_EQ(plan.update[0].devices[0].taints[0].added, WallTime(std::chrono::seconds(1000)));
  EXPECT_EQ(plan.update[0].devices[1].taints[0].added, std::nullopt) << "another taint than before";
}

TEST(PlanSlices, BringsEverySliceToANewGenerationOnAnyChange) {
  auto have = Published(200);
  have["node-7-fpga.example.com-1"].slice.resource_version = "41";
  Inventory inventory = Devices(200);
  inventory[0].attributes["model"] = "U250";
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, inventory), have, 1, kMe);
  ASSERT_EQ(plan.update.size(), 2u);
  EXPECT_EQ(plan.update[0].generation, 2);
  EXPECT_EQ(plan.update[1].generation, 2);
  EXPECT_EQ(plan.update[1].resource_version, "41");
  EXPECT_TRUE(PlanSlices(SlicesOf(kScope, inventory), Apply(have, plan), 2, kMe).empty());
}

TEST(PlanSlices, BringsBackOneWipedSliceWithoutTouchingTheOther) {
  auto have = Published(200);
  have.erase("node-7-fpga.example.com-0");
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, Devices(200)), have, 1, kMe);
  ASSERT_EQ(plan.create.size(), 1u);
  EXPECT_EQ(plan.create[0].generation, 1);
  EXPECT_TRUE(plan.update.empty());
}

TEST(PlanSlices, DoesNotGoBackInGenerationsAfterAWipe) {
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, Devices(1)), {}, 7, kMe);
  EXPECT_EQ(plan.create.at(0).generation, 7);
}

TEST(PlanSlices, RemovesSlicesThatNobodyWants) {
  auto have = Published(1);
  PublishedSlice other;
  other.slice.name = "left-over";
  other.slice.driver = kScope.driver;
  other.slice.pool = "old-pool";
  have["left-over"] = other;
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, Devices(1)), have, 1, kMe);
  ASSERT_EQ(plan.remove.size(), 1u);
  EXPECT_EQ(plan.remove[0].name, "left-over");
  EXPECT_TRUE(PlanSlices(SlicesOf(kScope, Devices(1)), Apply(have, plan), 1, kMe).empty());
}

TEST(PlanSlices, WithNoDevicesLeftRemovesAll) {
  const SlicePlan plan = PlanSlices({}, Published(200), 1, kMe);
  EXPECT_EQ(plan.remove.size(), 2u);
  EXPECT_TRUE(plan.create.empty());
}

TEST(PlanSlices, FinishesAHalfWrittenGenerationInsteadOfStartingAnother) {
  Inventory inventory = Devices(200);
  inventory[0].attributes["model"] = "U250";
  const auto wanted = SlicesOf(kScope, inventory);
  auto have = Published(200);
  SlicePlan plan = PlanSlices(wanted, have, 1, kMe);
  plan.update.pop_back();  // the server went away after the first write
  have = Apply(have, plan);
  const SlicePlan rest = PlanSlices(wanted, have, 1, kMe);
  ASSERT_EQ(rest.update.size(), 1u);
  EXPECT_EQ(rest.update[0].generation, 2);
}

TEST(PlanSlices, OfAnOlderInstanceYieldToANewerOne) {
  const auto newer = Apply({}, PlanSlices(SlicesOf(kScope, Devices(3)), {}, 0, kMe + 1), kMe + 1);
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, Devices(2)), newer, 0, kMe);
  EXPECT_TRUE(plan.yielded);
  EXPECT_TRUE(plan.empty());
  EXPECT_FALSE(PlanSlices(SlicesOf(kScope, Devices(2)), newer, 0, kMe + 2).empty());
}

TEST(PlanSlices, OfTheOnlyInstanceYieldToNobody) {
  const auto left_over =
      Apply({}, PlanSlices(SlicesOf(kScope, Devices(3)), {}, 0, kMe + 1), kMe + 1);
  const SlicePlan plan = PlanSlices(SlicesOf(kScope, Devices(2)), left_over, 0, std::nullopt);
  EXPECT_FALSE(plan.yielded);
  EXPECT_FALSE(plan.empty());
}

}  // namespace
}  // namespace galen::sdk
