// The checks of cdi_checks.cc, each failing on one thing that is wrong.
#include <gtest/gtest.h>

#include "conformance/fake_observations.h"

namespace galen::conformance {
namespace {

// The id that every prepare answers; the file follows when it should be found.
void SetId(Observations& seen, const std::string& id) {
  for (auto* answer : {&seen.claims.prepare, &seen.claims.prepare_again, &seen.claims.other_version,
                       &seen.claims.prepare_after}) {
    (*answer)->entries["u1"].devices[0].cdi_ids = {id};
  }
  seen.claims.prepare_parallel = {*seen.claims.prepare, *seen.claims.prepare};
  seen.claims.mixed->entries["u1"] = seen.claims.prepare->entries["u1"];
}

CdiSpec& SpecOf(Observations& seen) { return seen.cdi.specs[0]; }

TEST(CdiChecks, EachFailsAlone) {
  const std::vector<Flaw> flaws = {
      {"cdi.id-form",
       [](Observations& s) {
         SetId(s, "gpu.example.com/claim=u1 gpu");
         SpecOf(s).devices = {"u1 gpu"};
       }},
      {"cdi.ids-exist", [](Observations& s) { SpecOf(s).devices = {"u2-gpu-1"}; }},
      {"cdi.no-conflict",
       [](Observations& s) {
         s.cdi.specs.push_back(SpecOf(s));
         s.cdi.specs.back().path = "/cdi/vendor.json";
       }},
      {"cdi.readable",
       [](Observations& s) {
         s.cdi.specs.push_back({.path = "/cdi/gpu.example.com-x.json", .unreadable = "byte 3"});
       }},
      {"cdi.version",
       [](Observations& s) {
         SpecOf(s).cdi_version = "latest";
         SpecOf(s).least_version = "";
       }},
      {"cdi.least-version",
       [](Observations& s) {
         SpecOf(s).cdi_version = "0.3.0";
         SpecOf(s).least_version = "0.5.0";
       }},
      {"cdi.contents", [](Observations& s) { SpecOf(s).faults = {"device a has no edits"}; }},
  };
  std::vector<Check> alone;
  for (const Check& check : CdiChecks()) {
    // These need another setting; see below.
    if (check.id != "cdi.ids-unique" && check.id != "cdi.kind") alone.push_back(check);
  }
  ExpectEachFailsAlone(flaws, alone);
}

TEST(CdiChecks, AKindThatIsNoneFails) {
  Observations seen = GoodObservations();
  SpecOf(seen).kind = "gpu";
  EXPECT_EQ(ResultOf(seen, "cdi.kind").level, Level::kBad);
}

// A runtime takes the file, and the container fails: whoever writes the driver wants to know.
TEST(CdiChecks, ARelativePathFails) {
  Observations seen = GoodObservations();
  SpecOf(seen).relative_paths = {"device gpu-0: a mount's hostPath is \"a\", not an absolute path"};
  const CheckResult result = ResultOf(seen, "cdi.contents");
  EXPECT_EQ(result.level, Level::kBad);
  EXPECT_THAT(result.seen, ::testing::HasSubstr("hostPath"));
}

TEST(CdiChecks, TwoDevicesOfOneIdFail) {
  Observations seen = GoodObservations();
  ClaimEntry& entry = seen.claims.prepare->entries["u1"];
  entry.devices.push_back(entry.devices[0]);
  entry.devices[1].device = "gpu-0";
  EXPECT_EQ(ResultOf(seen, "cdi.ids-unique").level, Level::kBad);
}

TEST(CdiChecks, OtherVendorsFilesAreNotThisDriversFault) {
  Observations seen = GoodObservations();
  seen.cdi.specs.push_back({.path = "/cdi/nvidia.yaml", .unreadable = "line 3"});
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
}

TEST(CdiChecks, ALaterDirectoryMayOverride) {
  Observations seen = GoodObservations();
  seen.cdi.specs.push_back(SpecOf(seen));
  seen.cdi.specs.back().path = "/etc/cdi/gpu.example.com-claim_u1.json";
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
}

TEST(CdiChecks, AVersionLaterThanThisGalenIsNoFault) {
  Observations seen = GoodObservations();
  SpecOf(seen).cdi_version = "2.0.0";
  SpecOf(seen).least_version = "1.1.0";
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
}

TEST(CdiChecks, WithoutIdsAndFilesNothingIsChecked) {
  Observations seen = GoodObservations();
  for (auto* answer : {&seen.claims.prepare, &seen.claims.prepare_again}) {
    (*answer)->entries["u1"].devices[0].cdi_ids.clear();
  }
  seen.cdi.specs.clear();
  for (const Check& check : CdiChecks()) {
    EXPECT_EQ(check.judge(seen).level, Level::kUnknown) << check.id;
  }
}

}  // namespace
}  // namespace galen::conformance
