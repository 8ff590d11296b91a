#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Cluster = TestCluster;

TEST(Search, TakesTheFirstDevicesInOrderOfPoolSliceAndList) {
  Cluster cluster;
  cluster.AddSlice("s-1", "pool-b", {"b"});
  cluster.AddSlice("z", "pool-a", {"y", "x"}).slice_count = 2;
  cluster.AddSlice("a", "pool-a", {"w"}).slice_count = 2;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 4)})), "r=w r=y r=x r=b");
  EXPECT_EQ(cluster.Ask({Cluster::Claim({Cluster::Exactly("r", 1), Cluster::Exactly("s", 1)}),
                         Cluster::Claim({Cluster::Exactly("t", 1)})}),
            "r=w s=y | t=x");
}

TEST(Search, PutsPoolsWithBindingConditionsLast) {
  Cluster cluster;
  cluster.AddSlice("s-1", "pool-a", {"a"}).devices[0].binding_conditions = {"Ready"};
  cluster.AddSlice("s-2", "pool-b", {"b"});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)})), "r=b r=a");
  EXPECT_EQ(cluster.outcome.allocations[0].devices[1].binding_conditions,
            std::vector<std::string>{"Ready"});
  cluster.options.features.binding_conditions = false;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)})), "no fit");
}

TEST(Search, ChecksClassBeforeRequestAndStopsAtTheFirstFalse) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  cluster.Set("b", "good", true);
  cluster.AddClass("gpu", {"device.driver == \"other\""});
  // On a the request's selector would be an error.
  const auto claim = Cluster::Claim({Cluster::Exactly("r", 1, "device.attributes[\"d\"].good")});
  EXPECT_EQ(cluster.Ask(claim), "no fit");
  cluster.AddClass("gpu", {});
  cluster.classes["gpu"].selectors.clear();
  EXPECT_EQ(cluster.Ask(claim), "error");
  EXPECT_THAT(cluster.outcome.message, HasSubstr("no such key: good"));
}

TEST(Search, MeetsAnErrorOnlyWhereItComes) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  cluster.Set("a", "good", true);
  const auto claim = Cluster::Claim({Cluster::Exactly("r", 1, "device.attributes[\"d\"].good")});
  EXPECT_EQ(cluster.Ask(claim), "r=a") << "b is behind the device that fits";
  cluster.Hold("a");
  EXPECT_EQ(cluster.Ask(claim), "error") << "now b is the first that is asked";
  cluster.Hold("b");
  EXPECT_EQ(cluster.Ask(claim), "no fit") << "devices in use are not asked";
}

TEST(Search, RefusesADeviceWithAnUnknownKindOfAttribute) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  cluster.Set("a", "odd", UnknownKind());
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "error");
}

TEST(Search, AllNeedsEveryDeviceThatMatches) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c"});
  const auto claim = Cluster::Claim({Cluster::Request("r", Cluster::WishAll())});
  EXPECT_EQ(cluster.Ask(claim), "r=a r=b r=c");
  cluster.Taint("b");
  EXPECT_EQ(cluster.Ask(claim), "no fit") << "one taint blocks every claim for all devices";
  DeviceWish tolerant = Cluster::WishAll();
  tolerant.tolerations.push_back(Cluster::Tolerate());
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", tolerant)})), "r=a r=b r=c");
  cluster.Hold("c");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", tolerant)})), "no fit");
  cluster.slices.clear();
  EXPECT_EQ(cluster.Ask(claim), "no fit") << "no device is no error";
}

TEST(Search, AllFailsTheWholePodForAConstraint) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  cluster.Set("a", "numa", std::int64_t{0});
  cluster.Set("b", "numa", std::int64_t{1});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", Cluster::WishAll())},
                                       {Cluster::Match("numa")})),
            "error");
}

TEST(Search, HoldsTheLimitOfResults) {
  Cluster cluster;
  std::vector<std::string> devices;
  for (int i = 10; i < 44; ++i) devices.push_back("gpu-" + std::to_string(i));
  cluster.AddSlice("s", "pool", devices);
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 33)})), "error");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 20), Cluster::Exactly("s", 13)})),
            "error");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", Cluster::WishAll())})), "error");
  EXPECT_THAT(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 32)})), HasSubstr("r=gpu-41"));
}

TEST(Search, GoesOnToTheNextAlternativeWhenAResultWouldBeTooLarge) {
  Cluster cluster;
  std::vector<std::string> devices;
  for (int i = 10; i < 50; ++i) devices.push_back("gpu-" + std::to_string(i));
  cluster.AddSlice("s", "pool", devices);
  const std::string text =
      cluster.Ask(Cluster::Claim({Cluster::FirstOf("r", {Cluster::Wish(30), Cluster::Wish(1)}),
                                  Cluster::FirstOf("s", {Cluster::Wish(5), Cluster::Wish(4)})}));
  EXPECT_EQ(text, "r/b=gpu-10 s/a=gpu-11 s/a=gpu-12 s/a=gpu-13 s/a=gpu-14 s/a=gpu-15");
}

TEST(Search, TakesTheFirstAlternativeOfACompleteSolution) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c"});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::FirstOf("r", {Cluster::Wish(2), Cluster::Wish(1)}),
                                        Cluster::Exactly("s", 2)})),
            "r/b=a s=b s=c");
  cluster.options.features.prioritized_list = false;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::FirstOf("r", {Cluster::Wish(1)})})), "error");
}

TEST(Search, AdminAccessSharesWithOtherClaimsButNotWithItsOwn) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  cluster.Hold("a");
  DeviceWish admin = Cluster::Wish(1);
  admin.admin_access = true;
  const auto claim = Cluster::Claim({Cluster::Request("r", admin)});
  EXPECT_EQ(cluster.Ask({claim, claim}), "r=a | r=a");
  EXPECT_TRUE(cluster.outcome.allocations[0].devices[0].admin_access);
  EXPECT_EQ(
      cluster.Ask(Cluster::Claim({Cluster::Request("r", admin), Cluster::Request("s", admin)})),
      "no fit");
  cluster.Taint("a");
  EXPECT_EQ(cluster.Ask(claim), "no fit") << "a taint blocks it, too";
}

TEST(Search, TaintsBlockByEffectUnlessTolerated) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c"});
  cluster.Taint("a", TaintEffect::kNoExecute);
  cluster.Taint("b", TaintEffect::kNone);
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "r=b");
  DeviceWish tolerant = Cluster::Wish(1);
  tolerant.tolerations = {Cluster::Tolerate()};
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", tolerant)})), "r=a");
  tolerant.tolerations[0].effect = "NoSchedule";
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", tolerant)})), "r=b");
  tolerant.tolerations = {{.key = "sick", .value = "no"}};
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", tolerant)})), "r=b");
}

TEST(Search, AppliesTaintRules) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  const DeviceTaint taint{.key = "q", .value = "", .effect = TaintEffect::kNoSchedule};
  cluster.rules = {{.name = "rule", .has_selector = false, .taint = taint}};
  const auto claim = Cluster::Claim({Cluster::Exactly("r", 1)});
  EXPECT_EQ(cluster.Ask(claim), "r=a") << "no selector selects nothing";
  cluster.rules[0].has_selector = true;
  cluster.rules[0].device = "a";
  EXPECT_EQ(cluster.Ask(claim), "r=b");
  cluster.rules[0].device.reset();
  EXPECT_EQ(cluster.Ask(claim), "no fit");
  cluster.rules[0].pool = "other";
  EXPECT_EQ(cluster.Ask(claim), "r=a");
  cluster.rules[0].pool.reset();
  cluster.rules[0].driver = "other";
  EXPECT_EQ(cluster.Ask(claim), "r=a");
}

TEST(Search, MatchesAnAttributeAcrossRequests) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c", "d"});
  cluster.Set("a", "numa", std::int64_t{0});
  cluster.Set("b", "numa", std::int64_t{1});
  cluster.Set("c", "numa", std::int64_t{1});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1), Cluster::Exactly("s", 1)},
                                       {Cluster::Match("numa")})),
            "r=b s=c");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 3)}, {Cluster::Match("numa")})),
            "no fit");
  auto only_s = Cluster::Match("numa");
  only_s.requests = {"s"};
  EXPECT_EQ(
      cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1), Cluster::Exactly("s", 2)}, {only_s})),
      "r=a s=b s=c");
}

TEST(Search, AKindOfAttributeMatchesOnlyItself) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  cluster.Set("a", "x", std::string("1"));
  cluster.Set("b", "x", std::int64_t{1});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)}, {Cluster::Match("x")})),
            "no fit");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)}, {Cluster::Distinct("x")})),
            "r=a r=b");
}

TEST(Search, DistinctDevicesDifferInAll) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c"});
  cluster.Set("a", "card", std::string("one"));
  cluster.Set("b", "card", std::string("one"));
  cluster.Set("c", "card", std::string("two"));
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)}, {Cluster::Distinct("card")})),
            "r=a r=c");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 3)}, {Cluster::Distinct("card")})),
            "no fit");
}

TEST(Search, AConstraintOfAnAlternativeLeavesOthersAlone) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  auto of_a = Cluster::Match("none");
  of_a.requests = {"r/a"};
  EXPECT_EQ(cluster.Ask(Cluster::Claim(
                {Cluster::FirstOf("r", {Cluster::Wish(2), Cluster::Wish(1)})}, {of_a})),
            "r/b=a");
  of_a.requests = {"r"};
  EXPECT_EQ(cluster.Ask(Cluster::Claim(
                {Cluster::FirstOf("r", {Cluster::Wish(2), Cluster::Wish(1)})}, {of_a})),
            "no fit");
}

TEST(Search, RefusesWhatAGateForbids) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  DeviceWish capacity = Cluster::Wish(1);
  capacity.capacity = NamedQuantities();
  DeviceWish admin = Cluster::Wish(1);
  admin.admin_access = false;
  DeviceWish missing = Cluster::Wish(1);
  missing.class_name = "missing";
  cluster.options.features = {};
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", capacity)})), "error");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", admin)})), "error");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", missing)})), "error");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1, "bad(")})), "error");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)}, {DeviceConstraint()})), "error");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "r=a");
}

TEST(Search, RefusesACountThatIsNotPositive) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-5}, INT64_MIN}) {
    EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", count)})), "error") << count;
    EXPECT_THAT(cluster.outcome.message, HasSubstr("claim ns/claim, request r"));
  }
  EXPECT_EQ(
      cluster.Ask(Cluster::Claim({Cluster::FirstOf("r", {Cluster::Wish(1), Cluster::Wish(0)})})),
      "error");
}

TEST(Search, RefusesMoreThanTheApiServerAdmits) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  const ResourceClaim one = Cluster::Claim({Cluster::Exactly("r", 1)});
  const auto expect_limit = [&cluster](const ResourceClaim& most, const ResourceClaim& too_much,
                                       const char* what) {
    EXPECT_THAT(cluster.Ask(most) + cluster.outcome.message, Not(HasSubstr(what)));
    EXPECT_EQ(cluster.Ask(too_much), "error");
    EXPECT_THAT(cluster.outcome.message, HasSubstr(what));
  };
  const auto with = [&one](auto change) {
    ResourceClaim changed = one;
    change(changed);
    return changed;
  };
  const auto requests = [&](std::size_t n) {
    return with([n](auto& claim) { claim.requests.resize(n, claim.requests[0]); });
  };
  expect_limit(requests(32), requests(33), "has 33 requests");
  expect_limit(one, requests(50'000), "has 50000 requests");
  const auto constraints = [&](std::size_t n) {
    return with([n](auto& claim) { claim.constraints.resize(n, Cluster::Match("x")); });
  };
  expect_limit(constraints(32), constraints(33), "has 33 constraints");
  const auto configs = [&](std::size_t n) {
    return with([n](auto& claim) { claim.config.resize(n); });
  };
  expect_limit(configs(32), configs(33), "has 33 configs");
  const auto wishes = [](std::size_t n) {
    return Cluster::Claim({Cluster::FirstOf("r", std::vector(n, Cluster::Wish(1)))});
  };
  expect_limit(wishes(8), wishes(9), "request r: has 9 alternatives");
  const auto selectors = [&](std::size_t n) {
    return with([n](auto& claim) {
      claim.requests[0].wishes[0].selectors.resize(n, "device.driver == \"d\"");
    });
  };
  expect_limit(selectors(32), selectors(33), "request r: has 33 selectors");
  const auto tolerations = [&](std::size_t n) {
    return with([n](auto& claim) { claim.requests[0].wishes[0].tolerations.resize(n); });
  };
  expect_limit(tolerations(16), tolerations(17), "request r: has 17 tolerations");
  EXPECT_EQ(cluster.Ask(std::vector(128, one)), "no fit");
  EXPECT_EQ(cluster.Ask(std::vector(129, one)), "error");
  EXPECT_THAT(cluster.outcome.message, HasSubstr("claim ns/claim: the Pod has 129 claims"));
}

// More claims than a Pod may have: what counts them must hold without that limit, too.
TEST(Search, CountsADeviceThatVeryManyClaimsHaveWithAdminAccess) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  const Usage usage(*inventory);
  SelectorMemo memo(*inventory, cluster.engine);
  DeviceWish admin = Cluster::Wish(1);
  admin.admin_access = true;
  const std::vector claims = {Cluster::Claim({Cluster::Request("r", admin)}),
                              Cluster::Claim({Cluster::Exactly("r", 1)})};
  Demand demand = PrepareDemand(claims, cluster.classes, *inventory, memo);
  const ClaimPlan last_claim = demand.claims[1];
  const Slot last_slot = demand.slots[1];
  demand.claims.resize(256, demand.claims[0]);
  demand.slots.resize(256, demand.slots[0]);
  demand.claims[1] = demand.claims[0];
  demand.slots[1] = demand.slots[0];
  demand.claims.push_back(last_claim);
  demand.slots.push_back(last_slot);
  for (std::uint32_t i = 0; i < demand.claims.size(); ++i) {
    demand.slots[i].number = demand.slots[i].claim = i;
    demand.claims[i].requests[0].first_slot = i;
  }
  EXPECT_EQ(Allocator(*inventory, usage, demand, memo).Check(cluster.node),
            Outcome::Verdict::kDoesNotFit)
      << "the last claim wants it for itself";
}

TEST(Search, SaysWhichTestADeviceFailedFirst) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"held", "other", "tainted", "bad"});
  for (const char* device : {"held", "tainted", "bad"})
    cluster.Set(device, "kind", std::string("gpu"));
  cluster.Set("other", "kind", std::string("nic"));
  cluster.Hold("held");
  cluster.Taint("tainted");
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  Usage usage(*inventory);
  usage.Add(cluster.allocated[0]);
  SelectorMemo memo(*inventory, cluster.engine);
  const std::vector claims = {
      Cluster::Claim({Cluster::Exactly("r", 1, "device.attributes[\"d\"].kind == \"gpu\"")},
                     {Cluster::Match("x")})};
  const Demand demand = PrepareDemand(claims, cluster.classes, *inventory, memo);
  Allocator allocator(*inventory, usage, demand, memo);
  EXPECT_EQ(allocator.Check(cluster.node), Outcome::Verdict::kDoesNotFit);
  using Refusal = Allocator::Refusal;
  EXPECT_EQ(allocator.Refusals(),
            (std::vector<Refusal>{{.entry = 0, .reason = Reason::kInUse},
                                  {.entry = 1, .reason = Reason::kRequestSelector},
                                  {.entry = 2, .reason = Reason::kTaint},
                                  {.entry = 3, .reason = Reason::kConstraint}}));
  EXPECT_EQ(ToString(Reason::kTaint), "tainted");
}

}  // namespace
}  // namespace galen::alloc
