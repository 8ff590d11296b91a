// The checks of slice_checks.cc, each failing on one thing that is wrong.
#include <gtest/gtest.h>

#include "conformance/fake_observations.h"

namespace galen::conformance {
namespace {

Json& SpecOf(Observations& seen, std::size_t slice = 0) {
  return seen.slices.slices[slice]["spec"];
}
Json& DeviceOf(Observations& seen) { return SpecOf(seen)["devices"].MutableItems()[0]; }

Json Taint(const std::string& key, const std::string& effect) {
  return Json::MakeArray({Json::MakeObject({{"key", key}, {"effect", effect}})});
}

// More devices than a slice takes; the health knows them, too.
void AddDevices(Observations& seen, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "more-" + std::to_string(i);
    SpecOf(seen)["devices"].Append(Json::MakeObject({{"name", name}}));
    for (StreamSeen& stream : seen.health.steady) {
      for (HealthReportSeen& report : stream.reports) {
        report.devices.push_back({.pool = "node-7", .device = name, .message = "", .health = 1});
      }
    }
  }
}

TEST(SliceChecks, EachFailsAlone) {
  const std::vector<Flaw> flaws = {
      {"slices.published", [](Observations& s) { s.slices.slices.clear(); }},
      {"slices.names", [](Observations& s) { SpecOf(s)["driver"] = "GPU"; }},
      {"slices.generation",
       [](Observations& s) {
         Json old = s.slices.slices[0];
         old["spec"]["pool"]["generation"] = 2;
         s.slices.slices.push_back(old);
       }},
      {"slices.count", [](Observations& s) { SpecOf(s)["pool"]["resourceSliceCount"] = 3; }},
      {"slices.size", [](Observations& s) { AddDevices(s, 128); }},
      {"slices.size",
       [](Observations& s) {
         DeviceOf(s)["taints"] = Taint("example.com/flashing", "NoSchedule");
         AddDevices(s, 64);
       }},
      {"slices.placement", [](Observations& s) { SpecOf(s)["allNodes"] = true; }},
      {"slices.attributes",
       [](Observations& s) {
         DeviceOf(s)["attributes"]["no-identifier"] = Json::MakeObject({{"bool", true}});
       }},
      {"slices.attributes",
       [](Observations& s) {
         DeviceOf(s)["attributes"]["model"] = Json::MakeObject({{"string", std::string(65, 'x')}});
       }},
      {"slices.attributes",
       [](Observations& s) {
         for (int i = 0; i < 33; ++i) {
           DeviceOf(s)["attributes"]["a" + std::to_string(i)] = Json::MakeObject({{"int", i}});
         }
       }},
      {"slices.taints", [](Observations& s) { DeviceOf(s)["taints"] = Taint("", "NoSchedule"); }},
      {"slices.taints", [](Observations& s) { DeviceOf(s)["taints"] = Taint("a/b", "Drain"); }},
      {"slices.health-known",
       [](Observations& s) { s.health.steady[0].reports[0].devices[0].device = "gpu-9"; }},
  };
  std::vector<Check> alone;
  for (const Check& check : SliceChecks()) {
    // A device's name is the health's, too; see below.
    if (!check.id.starts_with("slices.device")) alone.push_back(check);
  }
  std::set<std::string> failed, all;
  for (const Flaw& flaw : flaws) {
    Observations seen = GoodObservations();
    flaw.make(seen);
    EXPECT_EQ(ResultOf(seen, flaw.id).level, Level::kBad) << flaw.id;
    for (const std::string& id : Failures(seen)) {
      if (id.starts_with("slices.")) {
        EXPECT_EQ(id, flaw.id);
      }
    }
    failed.insert(flaw.id);
  }
  for (const Check& check : alone) all.insert(std::string(check.id));
  EXPECT_EQ(failed, all);
}

TEST(SliceChecks, DeviceNamesAreLabelsAndUniqueInTheirPool) {
  Observations seen = GoodObservations();
  DeviceOf(seen)["name"] = "GPU_0";
  EXPECT_EQ(ResultOf(seen, "slices.device-names").level, Level::kBad);
  DeviceOf(seen)["name"] = "gpu-1";
  EXPECT_EQ(ResultOf(seen, "slices.devices-unique").level, Level::kBad);
}

TEST(SliceChecks, APoolOfAnotherNodeMustBeCompleteToo) {
  Observations seen = GoodObservations();
  Json far = GoodSlice("far", "gpu-0");
  far["spec"]["pool"]["name"] = "node-8";
  far["spec"]["nodeName"] = "node-8";
  seen.slices.slices.push_back(far);
  const CheckResult result = ResultOf(seen, "slices.count");
  EXPECT_EQ(result.level, Level::kBad);
  EXPECT_THAT(result.seen, ::testing::HasSubstr("node-8"));
}

TEST(SliceChecks, ADriverWithoutDevicesHasNothingToPublish) {
  Observations seen = GoodObservations();
  seen.slices.slices.clear();
  for (StreamSeen& stream : seen.health.steady) {
    for (HealthReportSeen& report : stream.reports) report.devices.clear();
  }
  EXPECT_EQ(ResultOf(seen, "slices.published").level, Level::kUnknown);
}

TEST(SliceChecks, WithoutAClusterNothingIsChecked) {
  Observations seen = GoodObservations();
  seen.slices.not_checked = "no cluster given";
  for (const Check& check : SliceChecks()) {
    EXPECT_EQ(check.judge(seen).level, Level::kUnknown) << check.id;
  }
}

}  // namespace
}  // namespace galen::conformance
