#include "cluster_sim/allocation/device_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "base/random.h"
#include "cluster_sim/allocation/node_selector.h"

namespace galen::cluster_sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Node node-1 with what a test puts there.
class NodeAllocatorTest : public ::testing::Test {
 protected:
  void Offer(const Json& slice) { slices_.emplace(KeyOf(slice), slice); }

  StatusOr<Json> AllocateFor(std::string_view requests) {
    Json claim = api_sim::FakeClaim("c", "gpu");
    claim["spec"]["devices"]["requests"] = api_sim::Yaml(requests);
    return Allocate(claim);
  }
  StatusOr<Json> Allocate(const Json& claim) {
    const DeviceInventory inventory(slices_, rules_);
    NodeAllocator allocator(inventory, node_,
                            [this](const DeviceId& id) { return in_use_.contains(id.device); });
    return allocator.Allocate(ReadClaimRequests(claim, classes_).value());
  }
  static ObjectKey KeyOf(const Json& object) { return {"", object["metadata"]["name"].AsString()}; }

  const Json node_ = api_sim::FakeNode("node-1");
  std::map<ObjectKey, Json> slices_;
  std::map<ObjectKey, Json> rules_;
  std::map<ObjectKey, Json> classes_ =
      api_sim::ByName({api_sim::FakeClass("gpu", "gpu"), api_sim::FakeClass("nic", "nic"),
                       api_sim::FakeClass("any", "")});
  std::set<std::string> in_use_;
};

std::vector<std::string> Results(const StatusOr<Json>& allocation) {
  std::vector<std::string> results;
  if (!allocation.ok()) return {allocation.status().message()};
  for (const Json& result : (*allocation)["devices"]["results"].items()) {
    results.push_back(result["request"].AsString() + "=" + result["device"].AsString());
  }
  return results;
}

TEST_F(NodeAllocatorTest, TakesTheFirstFreeDevicesOfTheClass) {
  Offer(api_sim::FakeSlice("nic", "node-1", {"nic-0"}));
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0", "gpu-1", "gpu-2"}));
  in_use_ = {"gpu-0"};
  EXPECT_THAT(Results(AllocateFor("[{name: a, exactly: {deviceClassName: gpu, count: 2}}]")),
              ElementsAre("a=gpu-1", "a=gpu-2"));
}

TEST_F(NodeAllocatorTest, SaysWhatIsMissing) {
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0", "gpu-1"}));
  in_use_ = {"gpu-0"};
  const Status status =
      AllocateFor("[{name: a, exactly: {deviceClassName: gpu, count: 2}}]").status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "request a wants 2 of class gpu, 1 free, 1 in use");
}

TEST_F(NodeAllocatorTest, RequestsOfOneClaimDoNotShareDevices) {
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0", "gpu-1"}));
  EXPECT_THAT(Results(AllocateFor("[{name: a, exactly: {deviceClassName: gpu}},"
                                  " {name: b, exactly: {deviceClassName: any}}]")),
              ElementsAre("a=gpu-0", "b=gpu-1"));
}

TEST_F(NodeAllocatorTest, ClaimsOfOneDecisionDoNotShareDevices) {
  const DeviceInventory inventory(api_sim::ByName({api_sim::FakeSlice("gpu", "node-1", {"gpu-0"})}),
                                  {});
  NodeAllocator allocator(inventory, node_, [](const DeviceId&) { return false; });
  const ClaimRequests one = ReadClaimRequests(api_sim::FakeClaim("c", "gpu"), classes_).value();
  EXPECT_TRUE(allocator.Allocate(one).ok());
  EXPECT_FALSE(allocator.Allocate(one).ok());
}

TEST_F(NodeAllocatorTest, AClaimThatDoesNotFitTakesNothing) {
  const DeviceInventory inventory(
      api_sim::ByName({api_sim::FakeSlice("gpu", "node-1", {"gpu-0", "gpu-1"})}), {});
  NodeAllocator allocator(inventory, node_, [](const DeviceId&) { return false; });
  Json greedy = api_sim::FakeClaim("c", "gpu");
  greedy["spec"]["devices"]["requests"] = api_sim::Yaml(
      "[{name: a, exactly: {deviceClassName: gpu}},"
      " {name: b, exactly: {deviceClassName: gpu, count: 2}}]");
  EXPECT_FALSE(allocator.Allocate(ReadClaimRequests(greedy, classes_).value()).ok());
  EXPECT_TRUE(
      allocator.Allocate(ReadClaimRequests(api_sim::FakeClaim("d", "gpu", 2), classes_).value())
          .ok());
}

TEST_F(NodeAllocatorTest, AllMeansEveryDeviceOrNothing) {
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0", "gpu-1"}));
  constexpr const char* kAll = "[{name: a, exactly: {deviceClassName: gpu, allocationMode: All}}]";
  EXPECT_THAT(Results(AllocateFor(kAll)), ElementsAre("a=gpu-0", "a=gpu-1"));
  in_use_ = {"gpu-1"};
  EXPECT_FALSE(AllocateFor(kAll).ok());
  slices_.clear();
  EXPECT_FALSE(AllocateFor(kAll).ok());
}

TEST_F(NodeAllocatorTest, TheFirstAlternativeThatFitsIsTaken) {
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0"}));
  EXPECT_THAT(Results(AllocateFor(R"([{name: a, firstAvailable: [
                  {name: two, deviceClassName: gpu, count: 2},
                  {name: one, deviceClassName: gpu},
                  {name: nic, deviceClassName: nic}]}])")),
              ElementsAre("a/one=gpu-0"));
}

TEST_F(NodeAllocatorTest, AdminAccessSharesWhatIsInUseAndTakesNothing) {
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0"}));
  in_use_ = {"gpu-0"};
  const StatusOr<Json> allocation =
      AllocateFor("[{name: a, exactly: {deviceClassName: gpu, adminAccess: true}}]");
  EXPECT_THAT(Results(allocation), ElementsAre("a=gpu-0"));
  EXPECT_TRUE((*allocation)["devices"]["results"][std::size_t{0}]["adminAccess"].AsBool());
  EXPECT_TRUE(HeldDevices(*allocation).empty());
  in_use_.clear();
  EXPECT_THAT(Results(AllocateFor("[{name: a, exactly: {deviceClassName: gpu, adminAccess: true}},"
                                  " {name: b, exactly: {deviceClassName: gpu}}]")),
              ElementsAre("a=gpu-0", "b=gpu-0"));
}

TEST_F(NodeAllocatorTest, TaintedDevicesNeedAToleration) {
  Json slice = api_sim::FakeSlice("gpu", "node-1", {"gpu-0", "gpu-1"});
  slice["spec"]["devices"].MutableItems()[0]["taints"] =
      api_sim::Yaml("[{key: bad, effect: NoSchedule}]");
  Offer(slice);
  EXPECT_THAT(Results(Allocate(api_sim::FakeClaim("c", "gpu"))), ElementsAre("gpu=gpu-1"));
  EXPECT_THAT(Results(Allocate(api_sim::FakeClaim("c", "gpu", 2))),
              ElementsAre(HasSubstr("1 tainted (bad)")));
  const StatusOr<Json> tolerating = AllocateFor(R"([{name: a, exactly: {deviceClassName: gpu,
      tolerations: [{key: bad, operator: Exists}]}}])");
  EXPECT_THAT(Results(tolerating), ElementsAre("a=gpu-0"));
  EXPECT_EQ((*tolerating)["devices"]["results"][std::size_t{0}]["tolerations"],
            api_sim::Yaml("[{key: bad, operator: Exists}]"));
}

TEST_F(NodeAllocatorTest, APoolThatIsNotWholeGivesNothing) {
  Json slice = api_sim::FakeSlice("gpu", "node-1", {"gpu-0"});
  slice["spec"]["pool"]["resourceSliceCount"] = 2;
  Offer(slice);
  EXPECT_THAT(Results(Allocate(api_sim::FakeClaim("c", "gpu"))),
              ElementsAre(HasSubstr("1 pools not published as a whole yet")));
}

TEST_F(NodeAllocatorTest, DevicesThatNeedMoreThanANameAreLeftAlone) {
  Json slice = api_sim::FakeSlice("gpu", "node-1", {"gpu-0"});
  slice["spec"]["devices"].MutableItems()[0]["allowMultipleAllocations"] = true;
  Offer(slice);
  EXPECT_THAT(Results(Allocate(api_sim::FakeClaim("c", "gpu"))),
              ElementsAre(HasSubstr("which galen-sim's scheduler does not allocate")));
}

TEST_F(NodeAllocatorTest, AClaimHoldsAtMostThirtyTwoDevices) {
  std::vector<std::string> devices;
  for (int i = 0; i < 33; ++i) devices.push_back("gpu-" + std::to_string(i));
  Offer(api_sim::FakeSlice("gpu", "node-1", devices));
  EXPECT_TRUE(Allocate(api_sim::FakeClaim("c", "gpu", 32)).ok());
  EXPECT_THAT(Results(Allocate(api_sim::FakeClaim("c", "gpu", 33))),
              ElementsAre(HasSubstr("at most 32")));
}

TEST_F(NodeAllocatorTest, ConfigurationOfClassAndClaimTravelsWithTheAllocation) {
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0"}));
  classes_.at({"", "gpu"})["spec"]["config"] =
      api_sim::Yaml("[{opaque: {driver: gpu, parameters: {a: 1}}}]");
  Json claim = api_sim::FakeClaim("c", "gpu");
  claim["spec"]["devices"]["config"] =
      api_sim::Yaml("[{requests: [gpu], opaque: {driver: gpu, parameters: {b: 2}}}]");
  EXPECT_EQ(Allocate(claim).value()["devices"]["config"], api_sim::Yaml(R"(
      [{source: FromClass, requests: [gpu], opaque: {driver: gpu, parameters: {a: 1}}},
       {source: FromClaim, requests: [gpu], opaque: {driver: gpu, parameters: {b: 2}}}])"));
}

TEST_F(NodeAllocatorTest, AnAllocationSaysWhereItCanBeUsed) {
  Offer(api_sim::FakeSlice("gpu", "node-1", {"gpu-0"}));
  const Json local = Allocate(api_sim::FakeClaim("c", "gpu")).value();
  EXPECT_TRUE(MatchesNodeSelector(local["nodeSelector"], node_));
  EXPECT_FALSE(MatchesNodeSelector(local["nodeSelector"], api_sim::FakeNode("node-2")));
  Json everywhere = api_sim::FakeSlice("nic", "vips", {"vip"});
  everywhere["spec"].Erase("nodeName");
  everywhere["spec"]["allNodes"] = true;
  Offer(everywhere);
  EXPECT_TRUE(Allocate(api_sim::FakeClaim("c", "nic")).value()["nodeSelector"].is_null());
}

// Random claims until nothing fits; no device may be held twice, and none left that would fit.
class RandomClaims : public NodeAllocatorTest, public ::testing::WithParamInterface<int> {
 protected:
  Random random_{static_cast<std::uint64_t>(GetParam())};
  std::set<DeviceId> held_;

  void OfferRandomDevices() {
    for (const char* driver : {"gpu", "nic"}) {
      std::vector<std::string> devices;
      const auto count = 1 + random_.Below(12);
      for (std::uint64_t i = 0; i < count; ++i) devices.push_back("d" + std::to_string(i));
      Json slice = api_sim::FakeSlice(driver, "node-1", devices);
      for (Json& device : slice["spec"]["devices"].MutableItems()) {
        if (random_.Chance(0.2))
          device["taints"] = api_sim::Yaml("[{key: bad, effect: NoSchedule}]");
      }
      Offer(slice);
    }
  }
  Json RandomWish() {
    const char* classes[] = {"gpu", "nic", "any"};
    Json wish = Json::MakeObject({{"deviceClassName", classes[random_.Below(3)]},
                                  {"count", static_cast<int>(1 + random_.Below(3))}});
    if (random_.Chance(0.1)) wish["allocationMode"] = "All";
    if (random_.Chance(0.2)) wish["adminAccess"] = true;
    if (random_.Chance(0.3)) wish["tolerations"] = api_sim::Yaml("[{operator: Exists}]");
    return wish;
  }
  Json RandomClaim() {
    Json claim = api_sim::FakeClaim("c", "gpu");
    Json requests(Json::Array{});
    for (std::uint64_t i = 0; i <= random_.Below(3); ++i) {
      Json request = Json::MakeObject({{"name", "r" + std::to_string(i)}});
      if (random_.Chance(0.5)) {
        request["exactly"] = RandomWish();
      } else {
        for (const char* name : {"x", "y"}) {
          Json wish = RandomWish();
          wish["name"] = name;
          request["firstAvailable"].Append(std::move(wish));
        }
      }
      requests.Append(std::move(request));
    }
    claim["spec"]["devices"]["requests"] = std::move(requests);
    return claim;
  }
};

TEST_P(RandomClaims, NeverHoldOneDeviceTwice) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  OfferRandomDevices();
  const DeviceInventory inventory(slices_, {});
  for (int i = 0; i < 30; ++i) {
    NodeAllocator allocator(inventory, node_,
                            [this](const DeviceId& d) { return held_.contains(d); });
    for (std::uint64_t claims = 0; claims <= random_.Below(3); ++claims) {
      const Json claim = RandomClaim();
      const StatusOr<Json> allocation =
          allocator.Allocate(ReadClaimRequests(claim, classes_).value());
      if (!allocation.ok()) continue;
      for (const DeviceId& device : HeldDevices(*allocation)) {
        EXPECT_TRUE(held_.insert(device).second) << ToString(device) << " in " << claim.Dump();
      }
    }
  }
  EXPECT_FALSE(held_.empty() && in_use_.empty() && slices_.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomClaims, ::testing::Range(1, 61));

}  // namespace
}  // namespace galen::cluster_sim
