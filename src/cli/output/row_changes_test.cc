#include "cli/output/row_changes.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

Table Pods(const std::map<std::string, std::string>& health_of) {
  Table table({"POD", "HEALTH", "DETAIL"});
  for (const auto& [pod, health] : health_of) table.Add({pod, health, ""}, pod);
  return table;
}

TEST(RowChanges, BeginWithTheWholeTable) {
  RowChanges changes;
  EXPECT_EQ(changes.Next(Pods({{"a", "Healthy"}, {"b", "Healthy"}})),
            "POD  HEALTH         DETAIL\na    Healthy\nb    Healthy\n");
  EXPECT_EQ(changes.Next(Pods({{"a", "Healthy"}, {"b", "Healthy"}})), "");
}

TEST(RowChanges, ShowOnlyTheRowThatChangedThoughItWidensItsColumn) {
  RowChanges changes;
  changes.Next(Pods({{"a", "Healthy"}, {"b", "Healthy"}, {"c", "Healthy"}}));
  EXPECT_EQ(changes.Next(Pods({{"a", "Healthy"}, {"b", "Unhealthy"}, {"c", "Healthy"}})),
            "b    Unhealthy\n");
}

TEST(RowChanges, StandUnderTheirHeaderThoughTheyAreLongerThanWhatWasThereFirst) {
  RowChanges changes;
  const auto table = [](const std::string& health, const std::string& reason) {
    Table made({"POD", "HEALTH", "REASON", "DETAIL"});
    made.Add({"a", health, reason, "x"}, "a");
    return made;
  };
  const std::string first = changes.Next(table("Healthy", ""));
  const std::string then = changes.Next(table("Degraded 0.50", "EccUncorrectable"));
  EXPECT_EQ(first.find("DETAIL"), then.find("x\n")) << first << then;
}

TEST(RowChanges, ShowWhichRowIsGone) {
  RowChanges changes;
  changes.Next(Pods({{"a", "Healthy"}, {"b", "Healthy"}}));
  EXPECT_EQ(changes.Next(Pods({{"a", "Healthy"}})), "b    gone\n");
  EXPECT_EQ(changes.Next(Pods({{"a", "Healthy"}})), "") << "once";
}

TEST(RowChanges, PrintTheHeaderWithTheFirstRow) {
  RowChanges changes;
  EXPECT_EQ(changes.Next(Pods({})), "");
  EXPECT_EQ(changes.Next(Pods({{"a", "Healthy"}})), "POD  HEALTH         DETAIL\na    Healthy\n");
}

Json Devices(const std::map<std::string, std::string>& state_of) {
  Json::Array items;
  for (const auto& [device, state] : state_of) {
    items.push_back(
        Json::MakeObject({{"driver", "d"}, {"pool", "p"}, {"device", device}, {"state", state}}));
  }
  return Json::MakeObject({{"items", std::move(items)}});
}

TEST(ItemChanges, AreWholeObjectsALineInTheFormOfAWatch) {
  ItemChanges changes;
  EXPECT_EQ(changes.Next(Devices({{"gpu-0", "Healthy"}})),
            R"({"object":{"device":"gpu-0","driver":"d","pool":"p","state":"Healthy"},)"
            R"("type":"ADDED"})"
            "\n");
  const auto event = Json::Parse(changes.Next(Devices({{"gpu-0", "Unhealthy"}})));
  ASSERT_TRUE(event.ok());
  EXPECT_EQ((*event)["type"].AsString(), "MODIFIED");
  EXPECT_EQ((*event)["object"]["state"].AsString(), "Unhealthy");
  EXPECT_EQ(changes.Next(Devices({{"gpu-0", "Unhealthy"}})), "");
  EXPECT_EQ((*Json::Parse(changes.Next(Devices({}))))["type"].AsString(), "DELETED");
}

TEST(ItemChanges, DistinguishTwoPodsOnOneDevice) {
  const auto pod = [](const char* name) {
    return Json::MakeObject(
        {{"namespace", "n"}, {"pod", name}, {"device", Json::MakeObject({{"device", "gpu-0"}})}});
  };
  ItemChanges changes;
  const std::string lines =
      changes.Next(Json::MakeObject({{"items", Json::MakeArray({pod("a"), pod("b")})}}));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

}  // namespace
}  // namespace galen::cli
