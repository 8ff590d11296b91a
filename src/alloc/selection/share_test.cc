#include "alloc/selection/share.h"

#include <gtest/gtest.h>

namespace galen::alloc {
namespace {

Quantity ShareOf(std::string_view text) { return Quantity::Parse(text).value(); }

std::optional<Quantity> ShareBound(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return ShareOf(text);
}

DeviceCapacity Ranged(std::string_view value, std::string_view min, std::string_view max,
                      std::string_view step) {
  return {.name = "m",
          .value = ShareOf(value),
          .policy = RequestPolicy{
              .valid_range = CapacityRange{ShareBound(min), ShareBound(max), ShareBound(step)}}};
}

// What is consumed, or the verdict as a letter.
std::string Consumed(const DeviceCapacity& capacity, std::string_view requested, int minor = 37,
                     const NamedQuantities* held = nullptr,
                     const NamedQuantities* taking = nullptr) {
  const Options options{.minor = minor, .features = StockFeatures(minor)};
  const NamedQuantities amounts =
      requested.empty() ? NamedQuantities() : NamedQuantities{{"m", ShareOf(requested)}};
  const Share share = ComputeShare({capacity}, &amounts, held, taking, options);
  switch (share.verdict) {
    case Share::Verdict::kFits:
      return ToString(share.consumed.at(0).second);
    case Share::Verdict::kMissing:
      return "missing";
    case Share::Verdict::kPolicy:
      return "policy";
    case Share::Verdict::kTooMuch:
      return "too much";
    case Share::Verdict::kError:
      return "error";
  }
  return "";
}

TEST(Share, WithoutARequestIsTheDefaultOrTheWhole) {
  EXPECT_EQ(Consumed({.name = "m", .value = ShareOf("10")}, ""), "10");
  DeviceCapacity capacity = Ranged("10", "2", "8", "2");
  EXPECT_EQ(Consumed(capacity, ""), "policy") << "the whole is no share that the policy allows";
  capacity.policy->otherwise = ShareOf("4");
  EXPECT_EQ(Consumed(capacity, ""), "4");
  capacity.policy->otherwise = ShareOf("3");
  EXPECT_EQ(Consumed(capacity, ""), "3") << "the default is allowed, whatever it is";
}

TEST(Share, WithoutAPolicyIsWhatIsAskedFor) {
  EXPECT_EQ(Consumed({.name = "m", .value = ShareOf("10")}, "3"), "3");
  EXPECT_EQ(Consumed({.name = "m", .value = ShareOf("10")}, "11"), "too much");
}

TEST(Share, IsRoundedUpWithinItsRange) {
  EXPECT_EQ(Consumed(Ranged("10", "2", "8", "2"), "1"), "2");
  EXPECT_EQ(Consumed(Ranged("10", "2", "8", "2"), "2"), "2");
  EXPECT_EQ(Consumed(Ranged("10", "2", "8", "2"), "3"), "4");
  EXPECT_EQ(Consumed(Ranged("10", "1", "8", "3"), "5"), "7") << "steps begin at the least";
  EXPECT_EQ(Consumed(Ranged("10", "2", "8", "2"), "9"), "policy");
  EXPECT_EQ(Consumed(Ranged("10", "2", "8", ""), "2500m"), "2500m") << "without steps as it is";
  EXPECT_EQ(Consumed(Ranged("3", "2", "", "2"), "3"), "too much");
}

TEST(Share, CountsThousandthsSince137) {
  EXPECT_EQ(Consumed(Ranged("10", "500m", "", "250m"), "600m"), "750m");
  EXPECT_EQ(Consumed(Ranged("10", "1", "", "1"), "1500m"), "2");
  EXPECT_EQ(Consumed(Ranged("10", "1", "", "500m"), "1200m", 36), "2")
      << "whole units: a step of half a unit is one";
}

TEST(Share, IsTheNextValidValue) {
  DeviceCapacity capacity{.name = "m", .value = ShareOf("10"), .policy = RequestPolicy()};
  capacity.policy->valid_values = {ShareOf("1"), ShareOf("4")};
  EXPECT_EQ(Consumed(capacity, "1"), "1");
  EXPECT_EQ(Consumed(capacity, "2"), "4");
  EXPECT_EQ(Consumed(capacity, "5"), "policy");
}

TEST(Share, CountsWhatOthersHave) {
  const NamedQuantities six{{"m", ShareOf("6")}}, two{{"m", ShareOf("2")}};
  const DeviceCapacity capacity{.name = "m", .value = ShareOf("10")};
  EXPECT_EQ(Consumed(capacity, "4", 37, &six), "4");
  EXPECT_EQ(Consumed(capacity, "5", 37, &six), "too much");
  EXPECT_EQ(Consumed(capacity, "2", 37, &six, &two), "2");
  EXPECT_EQ(Consumed(capacity, "3", 37, &six, &two), "too much");
}

TEST(Share, NeedsTheCapacityToBeThere) {
  const NamedQuantities other{{"other", ShareOf("1")}};
  EXPECT_EQ(
      ComputeShare({{.name = "m", .value = ShareOf("1")}}, &other, nullptr, nullptr, {}).verdict,
      Share::Verdict::kMissing);
}

TEST(Share, IsAnErrorWhereItCannotBeComputed) {
  EXPECT_EQ(Consumed(Ranged("9E", "2", "", "2"), "9223372036854775807"), "error");
  EXPECT_EQ(Consumed({.name = "m", .value = ShareOf("-1")}, ""), "error");
  EXPECT_EQ(Consumed({.name = "m", .value = ShareOf("-1")}, "", 36), "-1")
      << "before 1.37 nobody looked";
  EXPECT_EQ(Consumed(Ranged("10", "500m", "", "250m"), "100u"), "500m") << "below the least";
  EXPECT_EQ(Consumed(Ranged("10", "500m", "", "250m"), "600500u"), "error") << "no thousandths";
}

}  // namespace
}  // namespace galen::alloc
