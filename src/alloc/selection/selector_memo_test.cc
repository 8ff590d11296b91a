#include "alloc/selection/selector_memo.h"

#include <gtest/gtest.h>

#include "alloc/selection/cel_engine.h"
#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

TEST(SelectorMemo, AsksOnceForDevicesThatAreAlikeInWhatIsRead) {
  TestCluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c", "d"});
  for (const char* device : {"a", "b", "c"}) {
    cluster.Set(device, "x", std::string(*device == 'c' ? "2" : "1"));
    cluster.Set(device, "uuid", std::string(device));
  }
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  SelectorMemo memo(*inventory, cluster.engine);
  const std::uint32_t selector = memo.Add("device.attributes[\"d\"].x == \"1\"");
  EXPECT_EQ(memo.Add("device.attributes[\"d\"].x == \"1\""), selector);
  EXPECT_EQ(cluster.engine.compiled, 0) << "not before it is asked";
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(memo.Ask(selector, 0), SelectorMemo::Verdict::kTrue);
    EXPECT_EQ(memo.Ask(selector, 1), SelectorMemo::Verdict::kTrue);
    EXPECT_EQ(memo.Ask(selector, 2), SelectorMemo::Verdict::kFalse);
    EXPECT_EQ(memo.Ask(selector, 3), SelectorMemo::Verdict::kError);
  }
  EXPECT_EQ(memo.evaluations(), 3u);
  EXPECT_EQ(memo.ErrorOf(selector, 3), "no such key: x");
}

TEST(SelectorMemo, KeepsAnUnknownKindApart) {
  TestCluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  cluster.Set("b", "odd", UnknownKind());
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  SelectorMemo memo(*inventory, cluster.engine);
  const std::uint32_t selector = memo.Add("true");
  EXPECT_EQ(memo.Ask(selector, 0), SelectorMemo::Verdict::kTrue);
  EXPECT_EQ(memo.Ask(selector, 1), SelectorMemo::Verdict::kError)
      << "though it reads nothing of it";
}

TEST(SelectorMemo, SaysWhatDoesNotCompile) {
  TestCluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  SelectorMemo memo(*inventory, cluster.engine);
  EXPECT_EQ(memo.Ask(memo.Add("bad("), 0), SelectorMemo::Verdict::kError);
  EXPECT_EQ(memo.ErrorOf(0, 0), "does not compile: bad(");
}

// Reads everything, answers true, and takes half of what all devices together may.
class CostlyEngine final : public SelectorEngine {
 public:
  StatusOr<std::unique_ptr<Selector>> Compile(std::string_view) override {
    return std::unique_ptr<Selector>(std::make_unique<Costly>());
  }

 private:
  class Costly final : public Selector {
   public:
    const cel::Reads& reads() const override { return reads_; }
    cel::Outcome Matches(const DeviceFacts&) const override {
      return {.kind = cel::Outcome::Kind::kTrue, .work = SelectorMemo::kWorkMax / 2};
    }

   private:
    const cel::Reads reads_{.everything = true};
  };
};

TEST(SelectorMemo, RefusesMoreWorkThanAllDevicesTogetherMayTake) {
  TestCluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c", "d"});
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  CostlyEngine engine;
  SelectorMemo memo(*inventory, engine);
  const std::uint32_t first = memo.Add("first");
  const std::uint32_t second = memo.Add("second");
  EXPECT_EQ(memo.Ask(first, 0), SelectorMemo::Verdict::kTrue);
  EXPECT_EQ(memo.Ask(second, 0), SelectorMemo::Verdict::kTrue);
  EXPECT_FALSE(memo.exhausted());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(memo.Ask(first, 1), SelectorMemo::Verdict::kError);
    EXPECT_EQ(memo.ErrorOf(first, 1), "the selector takes too long on this many devices");
    EXPECT_EQ(memo.Ask(first, 0), SelectorMemo::Verdict::kTrue) << "what is known stays";
  }
  EXPECT_TRUE(memo.exhausted());
  EXPECT_EQ(memo.evaluations(), 2u);
}

// Upstream would have gone on: what it would find nobody knows.
TEST(SelectorMemo, AnAllocatorThatMeetsWhatWasNotEvaluatedCannotTell) {
  TestCluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c", "d"});
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  const Usage usage(*inventory);
  CostlyEngine engine;
  SelectorMemo memo(*inventory, engine);
  const std::vector<ResourceClaim> claims = {
      TestCluster::Claim({TestCluster::Exactly("all", 4, "costly")})};
  const Demand demand = PrepareDemand(claims, cluster.classes, *inventory, memo);
  EXPECT_EQ(Allocator(*inventory, usage, demand, memo).Check(cluster.node),
            Outcome::Verdict::kCannotTell);
}

TEST(CelEngine, EvaluatesSelectorsOfTheApi) {
  TestCluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  cluster.SetCapacity("a", "memory", "80Gi");
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  CelEngine engine(37);
  SelectorMemo memo(*inventory, engine);
  EXPECT_EQ(memo.Ask(memo.Add("device.capacity['d'].memory.compareTo(quantity('40Gi')) > 0"), 0),
            SelectorMemo::Verdict::kTrue);
  EXPECT_EQ(memo.Ask(memo.Add("device.driver == 'x'"), 0), SelectorMemo::Verdict::kFalse);
  EXPECT_EQ(memo.Ask(memo.Add("device.attributes['d'].none"), 0), SelectorMemo::Verdict::kError);
  EXPECT_EQ(memo.Ask(memo.Add("nonsense"), 0), SelectorMemo::Verdict::kError);
}

}  // namespace
}  // namespace galen::alloc
