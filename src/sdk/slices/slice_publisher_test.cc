#include "sdk/slices/slice_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/slices/test_slice_publisher.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLeftOver[] = "node-7-fpga-x7f2k";

TEST_F(SlicePublisherTest, WritesATaintedDeviceOnceAlthoughTheServerAddsATime) {
  auto publisher = MakePublisher();
  Inventory inventory = PublishedDevices(1);
  inventory[0].taints = {{.key = "fpga.example.com/flashing"}};
  publisher->SetInventory(inventory);
  publisher->Start();
  node_.loop.Advance(10s);
  EXPECT_TRUE(publisher->settled());
  EXPECT_EQ(cluster_.wire().writes(), 1);
  EXPECT_TRUE(cluster_.Slices().at(0).devices[0].taints[0].added.has_value());
}

// Kubernetes 1.34 and 1.35 as they come: the gates are off, and the write is answered with 200.
TEST_F(SlicePublisherTest, WritesOnceWhereTheServerDropsFieldsAndNamesTheirGates) {
  cluster_.wire().Drop("taints");
  cluster_.wire().Drop("allowMultipleAllocations");
  auto publisher = MakePublisher();
  publisher->SetInventory(TaintedAndShared());
  publisher->Start();
  node_.loop.Advance(3600s);
  EXPECT_EQ(cluster_.wire().writes(), 1);
  EXPECT_EQ(cluster_.Slices().at(0).generation, 1);
  EXPECT_TRUE(publisher->settled());
  ASSERT_THAT(lines_, SizeIs(2));
  EXPECT_THAT(lines_[0], AllOf(HasSubstr("taints"), HasSubstr("DRADeviceTaints")));
  EXPECT_THAT(lines_[1],
              AllOf(HasSubstr("allowMultipleAllocations"), HasSubstr("DRAConsumableCapacity")));
}

TEST_F(SlicePublisherTest, WhereFieldsAreDroppedWritesAgainOnlyOnChange) {
  cluster_.wire().Drop("taints");
  auto publisher = MakePublisher();
  Inventory inventory = PublishedDevices(70);  // two slices, for there are taints
  inventory[0].taints = {{.key = "fpga.example.com/flashing"}};
  publisher->SetInventory(inventory);
  publisher->Start();
  node_.loop.Advance(60s);
  EXPECT_EQ(cluster_.wire().writes(), 2);
  inventory.push_back({.name = "fpga-70"});
  publisher->SetInventory(inventory);
  node_.loop.Advance(60s);
  EXPECT_EQ(cluster_.wire().writes(), 4) << "both slices carry the new generation";
  kube::ResourceSlice touched = cluster_.Slices().at(0);
  touched.devices.pop_back();
  ASSERT_TRUE(cluster_.Do(kube::Update(kube::kResourceSlices, kube::EncodeSlice(touched))).ok());
  node_.loop.Advance(60s);
  EXPECT_EQ(cluster_.wire().writes(), 6) << "somebody else's change is mended";
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(64));
  EXPECT_THAT(lines_, SizeIs(1)) << "told once";
}

TEST_F(SlicePublisherTest, OnceTheServerKeepsTheFieldTheNextWriteHasIt) {
  cluster_.wire().Drop("taints");
  auto publisher = MakePublisher();
  publisher->SetInventory(TaintedAndShared());
  publisher->Start();
  node_.loop.Advance(1s);
  cluster_.wire().Keep("taints");
  const auto name = cluster_.Slices().at(0).name;
  ASSERT_TRUE(cluster_.Do(kube::Delete(kube::kResourceSlices, "", name)).ok());
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices().at(0).devices.at(0).taints, SizeIs(1));
  EXPECT_EQ(cluster_.wire().writes(), 2);
}

TEST_F(SlicePublisherTest, ATaintThatComesBackIsTriedAgain) {
  cluster_.wire().Drop("taints");
  auto publisher = MakePublisher();
  publisher->SetInventory(TaintedAndShared());
  publisher->Start();
  node_.loop.Advance(1s);
  Inventory well = TaintedAndShared();
  well[0].taints.clear();
  publisher->SetInventory(well);
  node_.loop.Advance(1s);
  EXPECT_EQ(cluster_.wire().writes(), 1) << "as the server has it";
  cluster_.wire().Keep("taints");
  publisher->SetInventory(TaintedAndShared());
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices().at(0).devices.at(0).taints, SizeIs(1));
}

TEST_F(SlicePublisherTest, PublishesTheInventoryOwnedByTheNode) {
  const auto publisher = Start(2);
  const auto slices = cluster_.Slices();
  ASSERT_THAT(slices, SizeIs(1));
  EXPECT_EQ(slices[0].driver, "fpga.example.com");
  EXPECT_EQ(slices[0].pool, "node-7");
  EXPECT_EQ(slices[0].node, "node-7");
  EXPECT_EQ(slices[0].generation, 1);
  EXPECT_EQ(slices[0].slice_count, 1);
  EXPECT_THAT(slices[0].devices, SizeIs(2));
  EXPECT_TRUE(publisher->settled());
  const Json node = *cluster_.Do(kube::Get(kube::kNodes, "", "node-7"));
  const Json slice = *cluster_.Do(kube::Get(kube::kResourceSlices, "", slices[0].name));
  const Json& owner = slice["metadata"]["ownerReferences"][0];
  EXPECT_EQ(owner["kind"], Json("Node"));
  EXPECT_EQ(owner["uid"], node["metadata"]["uid"]);
}

TEST_F(SlicePublisherTest, WritesOnlyOnChange) {
  const auto publisher = Start(200);
  const int writes = cluster_.wire().writes();
  node_.loop.Advance(3600s);
  publisher->SetInventory(PublishedDevices(200));
  node_.loop.Advance(3600s);
  EXPECT_EQ(cluster_.wire().writes(), writes);
  publisher->SetInventory(PublishedDevices(201));
  node_.loop.Advance(1s);
  EXPECT_EQ(cluster_.wire().writes(), writes + 2);
  for (const auto& slice : cluster_.Slices()) EXPECT_EQ(slice.generation, 2);
}

TEST_F(SlicePublisherTest, ARestartWritesNothing) {
  Start(2).reset();
  const int writes = cluster_.wire().writes();
  const auto restarted = Start(2, 2);
  EXPECT_TRUE(restarted->settled());
  EXPECT_EQ(cluster_.wire().writes(), writes);
}

TEST_F(SlicePublisherTest, BringsWipedSlicesBackAtOnce) {
  const auto publisher = Start(200);
  kube::Selectors selectors;
  selectors.field = "spec.nodeName=node-7";
  ASSERT_TRUE(cluster_.Do(kube::DeleteCollection(kube::kResourceSlices, "", selectors)).ok());
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices(), SizeIs(2));
}

TEST_F(SlicePublisherTest, TakesOverAndRemovesWhatAnEarlierDriverLeft) {
  Leave(kLeftOver);
  const auto publisher = Start(1);
  const auto slices = cluster_.Slices();
  ASSERT_THAT(slices, SizeIs(1));
  EXPECT_EQ(slices[0].generation, 42);
  EXPECT_EQ(slices[0].devices.at(0).name, "fpga-0");
}

TEST_F(SlicePublisherTest, WaitsWhileANewerInstancePublishesAndGoesOnWhenItIsGone) {
  another_runs_ = true;
  const auto older = Start(1, 10);
  auto newer = Start(2, 20);
  older->SetInventory(PublishedDevices(3));
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(2));
  EXPECT_FALSE(older->settled());
  newer.reset();
  another_runs_ = false;
  node_.loop.Advance(60s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(3));
  EXPECT_TRUE(older->settled());
}

TEST_F(SlicePublisherTest, AClockThatWasSetBackDoesNotMakeANewInstanceTheOlderOne) {
  Start(1, 1'000).reset();
  another_runs_ = true;
  const auto after = Start(2, 10);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(2));
  EXPECT_TRUE(after->settled());
}

TEST_F(SlicePublisherTest, LeavesSlicesOfOthersAlone) {
  kube::ResourceSlice other;
  other.name = "node-8-fpga";
  other.driver = "fpga.example.com";
  other.pool = "node-8";
  other.generation = 1;
  other.slice_count = 1;
  other.node = "node-8";
  ASSERT_TRUE(cluster_.Do(kube::Create(kube::kResourceSlices, "", kube::EncodeSlice(other))).ok());
  const auto publisher = Start(1);
  EXPECT_THAT(cluster_.Slices(), SizeIs(2));
}

TEST_F(SlicePublisherTest, WaitsForAnApiServerThatIsAway) {
  cluster_.wire().GoAway(true);
  const auto publisher = Start(1);
  node_.loop.Advance(60s);
  EXPECT_FALSE(publisher->settled());
  cluster_.wire().GoAway(false);
  node_.loop.Advance(60s);
  EXPECT_TRUE(publisher->settled());
  EXPECT_THAT(cluster_.Slices(), SizeIs(1));
  EXPECT_LE(lines_.size(), 2u) << "the same trouble is told once";
}

TEST_F(SlicePublisherTest, ASecondOutageIsLoggedAgainAndEndsLikeTheFirst) {
  const auto publisher = Start(1);
  for (std::size_t round = 1; round <= 2; ++round) {
    const std::size_t logged = lines_.size();
    ASSERT_TRUE(cluster_.Do(kube::Delete(kube::kNodes, "", "node-7")).ok());
    publisher->SetInventory(PublishedDevices(1 + round));
    node_.loop.Advance(600s);
    EXPECT_FALSE(publisher->settled());
    EXPECT_THAT(lines_, SizeIs(logged + 1)) << round;
    cluster_.AddNode("node-7");
    node_.loop.Advance(60s);
    EXPECT_TRUE(publisher->settled());
    EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(1 + round));
  }
}

// A device is withdrawn while the slices that have it are written, and then the API server is away.
TEST_F(SlicePublisherTest, IsNotSettledByAnAnswerToAnEarlierInventory) {
  cluster_.wire().HoldAnswers();
  const auto publisher = Start(2);
  publisher->SetInventory(PublishedDevices(1));
  cluster_.wire().GoAway(true);
  cluster_.wire().LetAnswersPass();
  node_.loop.Advance(60s);
  ASSERT_THAT(cluster_.Slices().at(0).devices, SizeIs(2));
  EXPECT_FALSE(publisher->settled());
  cluster_.wire().GoAway(false);
  node_.loop.Advance(60s);
  EXPECT_TRUE(publisher->settled());
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(1));
}

TEST_F(SlicePublisherTest, IsNotSettledWhileItsSlicesAreWipedAndCannotBeWritten) {
  const auto publisher = Start(1);
  ASSERT_TRUE(publisher->settled());
  ASSERT_TRUE(cluster_.Do(kube::Delete(kube::kNodes, "", "node-7")).ok());
  Remove(cluster_.Slices().at(0).name);
  node_.loop.Advance(60s);
  EXPECT_FALSE(publisher->settled());
  cluster_.AddNode("node-7");
  node_.loop.Advance(60s);
  EXPECT_TRUE(publisher->settled());
}

TEST_F(SlicePublisherTest, WaitsForItsNodeToBeMade) {
  ASSERT_TRUE(cluster_.Do(kube::Delete(kube::kNodes, "", "node-7")).ok());
  const auto publisher = Start(1);
  EXPECT_THAT(cluster_.Slices(), IsEmpty());
  EXPECT_THAT(lines_.at(0), HasSubstr("get node node-7"));
  cluster_.AddNode("node-7");
  node_.loop.Advance(60s);
  EXPECT_THAT(cluster_.Slices(), SizeIs(1));
}

TEST_F(SlicePublisherTest, TwoInstancesWithDifferentDevicesDoNotFight) {
  another_runs_ = true;
  const auto older = Start(1, 1);
  const auto newer = Start(2, 2);
  node_.loop.Advance(10s);
  const int writes = cluster_.wire().writes();
  node_.loop.Advance(600s);
  EXPECT_EQ(cluster_.wire().writes(), writes);
  ASSERT_THAT(cluster_.Slices(), SizeIs(1));
  EXPECT_THAT(cluster_.Slices()[0].devices, SizeIs(2));
}

TEST_F(SlicePublisherTest, AfterStopWritesNothingAndLeavesWhatIsThere) {
  const auto publisher = Start(1);
  publisher->Stop();
  publisher->SetInventory(PublishedDevices(5));
  node_.loop.Advance(60s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(1));
}

TEST_F(SlicePublisherTest, WipedSlicesComeBackUnderNoOlderGeneration) {
  const auto publisher = Start(2);
  publisher->SetInventory(PublishedDevices(3));
  node_.loop.Advance(1s);
  ASSERT_EQ(cluster_.Slices().at(0).generation, 2);
  kube::Selectors selectors;
  selectors.field = "spec.nodeName=node-7";
  ASSERT_TRUE(cluster_.Do(kube::DeleteCollection(kube::kResourceSlices, "", selectors)).ok());
  node_.loop.Advance(1s);
  ASSERT_THAT(cluster_.Slices(), SizeIs(1));
  EXPECT_EQ(cluster_.Slices()[0].generation, 2);
}

// A kubelet wipes the slices of its node when it starts.
TEST_F(SlicePublisherTest, AWipeThatOvertakesTheAnswerOfAWriteIsMended) {
  cluster_.wire().HoldAnswers();
  const auto publisher = Start(1);
  ASSERT_THAT(cluster_.Slices(), SizeIs(1));
  Remove(cluster_.Slices().at(0).name);
  node_.loop.Advance(1s);
  cluster_.wire().LetAnswersPass();
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices(), SizeIs(1));
}

TEST_F(SlicePublisherTest, AChangeByAnotherThatOvertakesTheAnswerOfAWriteIsMended) {
  cluster_.wire().HoldAnswers();
  const auto publisher = Start(1);
  kube::ResourceSlice changed = cluster_.Slices().at(0);
  changed.devices.at(0).name = "other-0";
  ASSERT_TRUE(cluster_.Do(kube::Update(kube::kResourceSlices, kube::EncodeSlice(changed))).ok());
  node_.loop.Advance(1s);
  cluster_.wire().LetAnswersPass();
  node_.loop.Advance(1s);
  EXPECT_EQ(cluster_.Slices().at(0).devices.at(0).name, "fpga-0");
}

TEST_F(SlicePublisherTest, ASliceMadeAnewBeforeTheAnswerOfItsRemovalIsRemovedToo) {
  Leave(kLeftOver);
  cluster_.wire().HoldAnswers();
  const auto publisher = Start(1);
  Leave(kLeftOver);  // its name is free again: the removal has been done
  node_.loop.Advance(1s);
  cluster_.wire().LetAnswersPass();
  node_.loop.Advance(10s);
  const auto slices = cluster_.Slices();
  ASSERT_THAT(slices, SizeIs(1));
  EXPECT_EQ(slices[0].devices.at(0).name, "fpga-0");
}

TEST_F(SlicePublisherTest, LateNewsOfAFormerSlicesEndAreNotTakenForTheNewOnes) {
  const auto publisher = Start(200);
  ASSERT_THAT(cluster_.Slices(), SizeIs(2));
  cluster_.wire().HoldNews();
  publisher->SetInventory(PublishedDevices(1));
  node_.loop.Advance(1s);
  publisher->SetInventory(PublishedDevices(200));
  node_.loop.Advance(1s);
  ASSERT_THAT(cluster_.Slices(), SizeIs(2));
  const int writes = cluster_.wire().writes();
  cluster_.wire().LetNewsPass();
  node_.loop.Advance(10s);
  EXPECT_EQ(cluster_.wire().writes(), writes);
  EXPECT_THAT(cluster_.Slices(), SizeIs(2));
}

// Whoever may write slices can put any number there: a later instance must still come after it.
TEST(PublishedSlice, HasAPublisherAfterWhichAnotherCanCome) {
  kube::ResourceSlice slice{.name = "a", .driver = "b.example.com", .pool = "c", .node = "c"};
  Json object = kube::EncodeSlice(slice);
  object["metadata"]["uid"] = "u-1";
  for (const auto& [text, publisher] : std::map<std::string, std::int64_t>{
           {"9223372036854775807", INT64_MAX - 1}, {"-5", 0}, {"17", 17}}) {
    object["metadata"]["annotations"]["galen.dev/published-by"] = text;
    EXPECT_EQ(DecodePublishedSlice(object).value().publisher, publisher);
  }
}

}  // namespace
}  // namespace galen::sdk
