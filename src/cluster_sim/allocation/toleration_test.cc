#include "cluster_sim/allocation/toleration.h"

#include <gtest/gtest.h>

namespace galen::cluster_sim {
namespace {

std::vector<Toleration> Read(std::string_view text) {
  return ReadTolerations(Json::Parse(text).value());
}

const DeviceTaint kMaintenance{"example.com/state", "maintenance", TaintEffect::kNoSchedule, {}};

TEST(Toleration, EqualWantsKeyAndValue) {
  EXPECT_TRUE(
      Tolerates(Read(R"([{"key":"example.com/state","value":"maintenance"}])"), kMaintenance));
  EXPECT_FALSE(Tolerates(Read(R"([{"key":"example.com/state","value":"other"}])"), kMaintenance));
  EXPECT_FALSE(Tolerates(Read(R"([{"key":"other","value":"maintenance"}])"), kMaintenance));
}

TEST(Toleration, ExistsTakesAnyValueAndWithoutKeyAnyTaint) {
  EXPECT_TRUE(
      Tolerates(Read(R"([{"key":"example.com/state","operator":"Exists"}])"), kMaintenance));
  EXPECT_TRUE(Tolerates(Read(R"([{"operator":"Exists"}])"), kMaintenance));
  EXPECT_FALSE(Tolerates(Read(R"([{"operator":"Equal"}])"), kMaintenance));
}

TEST(Toleration, AnEffectNarrowsIt) {
  EXPECT_TRUE(Tolerates(Read(R"([{"operator":"Exists","effect":"NoSchedule"}])"), kMaintenance));
  EXPECT_FALSE(Tolerates(Read(R"([{"operator":"Exists","effect":"NoExecute"}])"), kMaintenance));
}

TEST(Toleration, NothingToleratesByDefault) { EXPECT_FALSE(Tolerates({}, kMaintenance)); }

TEST(Toleration, OnlyNoScheduleAndNoExecuteRepel) {
  const auto taints = ReadTaints(Json::Parse(R"([{"key":"a","effect":"None"},
      {"key":"b","effect":"PreferNoSchedule"},{"key":"c","effect":"NoExecute"}])")
                                     .value());
  const DeviceTaint* repelling = Repelling(taints, {});
  ASSERT_NE(repelling, nullptr);
  EXPECT_EQ(repelling->key, "c");
  EXPECT_EQ(Repelling(taints, Read(R"([{"key":"c","operator":"Exists"}])")), nullptr);
}

}  // namespace
}  // namespace galen::cluster_sim
