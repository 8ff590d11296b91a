// The checks of claim_checks.cc, each failing on one thing that is wrong.
#include <gtest/gtest.h>

#include "conformance/fake_observations.h"

namespace galen::conformance {
namespace {

ClaimEntry& EntryOf(ClaimsAnswer& answer) { return answer.entries.begin()->second; }

TEST(ClaimChecks, EachFailsAlone) {
  const std::vector<Flaw> flaws = {
      {"claims.empty",
       [](Observations& s) {
         s.claims.empty_prepare["v1"].answer.status = InvalidArgument("no claims");
       }},
      {"claims.empty", [](Observations& s) { s.claims.empty_unprepare["v1"].entries["x"]; }},
      {"claims.unknown-field",
       [](Observations& s) {
         s.claims.with_unknown_field->answer.status = InvalidArgument("unknown field");
       }},
      {"claims.unprepare-unknown",
       [](Observations& s) { EntryOf(*s.claims.unprepare_unknown).error = "never prepared"; }},
      {"claims.unprepare-unknown",
       [](Observations& s) { s.claims.unprepare_unknown->entries.clear(); }},
      {"claims.error-per-claim",
       [](Observations& s) { s.claims.prepare_missing->answer.status = Internal("no claim"); }},
      {"claims.error-per-claim",
       [](Observations& s) { EntryOf(*s.claims.prepare_missing).error = ""; }},
      {"claims.parallel",
       [](Observations& s) { s.claims.parallel[1].answer.status = Unavailable("busy"); }},
      {"claims.parallel",
       [](Observations& s) { s.claims.parallel[0].entries = s.claims.parallel[1].entries; }},
      {"claims.devices",
       [](Observations& s) {
         for (auto* answer : {&s.claims.prepare, &s.claims.prepare_again, &s.claims.other_version,
                              &s.claims.prepare_after}) {
           EntryOf(**answer).devices[0].device = "gpu-0";
         }
         s.claims.prepare_parallel = {*s.claims.prepare, *s.claims.prepare};
         s.claims.mixed->entries["u1"] = EntryOf(*s.claims.prepare);
       }},
      {"claims.requests",
       [](Observations& s) {
         for (auto* answer : {&s.claims.prepare, &s.claims.prepare_again, &s.claims.other_version,
                              &s.claims.prepare_after}) {
           EntryOf(**answer).devices[0].requests = {"device/sub"};
         }
         s.claims.prepare_parallel = {*s.claims.prepare, *s.claims.prepare};
         s.claims.mixed->entries["u1"] = EntryOf(*s.claims.prepare);
       }},
      {"claims.prepare-again",
       [](Observations& s) { EntryOf(*s.claims.prepare_again).devices[0].cdi_ids = {"a/b=c"}; }},
      {"claims.versions-alike",
       [](Observations& s) { EntryOf(*s.claims.other_version).devices.clear(); }},
      {"claims.prepare-parallel",
       [](Observations& s) { s.claims.prepare_parallel[1].answer.status = Unavailable("busy"); }},
      {"claims.mixed",
       [](Observations& s) { s.claims.mixed->entries["u1"].error = "no claim u9"; }},
      {"claims.mixed", [](Observations& s) { s.claims.mixed->entries["u9"].error = ""; }},
      {"claims.wrong-uid", [](Observations& s) { EntryOf(*s.claims.wrong_uid).error = ""; }},
      {"claims.wrong-uid",
       [](Observations& s) { s.claims.wrong_uid->answer.status = Unavailable("it crashed"); }},
      {"claims.not-allocated",
       [](Observations& s) { EntryOf(*s.claims.not_allocated).error = ""; }},
      {"claims.unprepare", [](Observations& s) { EntryOf(*s.claims.unprepare).error = "busy"; }},
      {"claims.unprepare-again",
       [](Observations& s) { EntryOf(*s.claims.unprepare_again).error = "not prepared"; }},
      {"claims.prepare-after",
       [](Observations& s) { EntryOf(*s.claims.prepare_after).error = "done already"; }},
      {"claims.unprepare-deleted",
       [](Observations& s) { EntryOf(*s.claims.unprepare_deleted).error = "claim not found"; }},
  };
  std::vector<Check> alone;
  for (const Check& check : ClaimChecks()) {
    // These two leave others nothing to judge, or spoil them; see below.
    if (check.id != "claims.prepare" && check.id != "claims.served") alone.push_back(check);
  }
  ExpectEachFailsAlone(flaws, alone);
}

TEST(ClaimChecks, AClaimThatIsNotPreparedFailsThatAlone) {
  Observations seen = GoodObservations();
  seen.claims.prepare = GoodAnswer("u1", {.devices = {}, .error = "no bitstream"});
  EXPECT_THAT(Failures(seen), ::testing::ElementsAre("claims.prepare"));
  EXPECT_EQ(ResultOf(seen, "claims.prepare-again").level, Level::kUnknown);
}

TEST(ClaimChecks, AnErrorOfTheWholeCallRefusesAClaimToo) {
  Observations seen = GoodObservations();
  seen.claims.wrong_uid->answer.status = Internal("claim default/c got replaced");
  seen.claims.not_allocated->answer.status = Internal("claim default/c not allocated");
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
  EXPECT_THAT(ResultOf(seen, "claims.wrong-uid").seen, ::testing::HasSubstr("got replaced"));
}

TEST(ClaimChecks, AnOfferedServiceThatIsNotThereFails) {
  Observations seen = GoodObservations();
  seen.claims.empty_prepare["v1beta1"].answer.status = Unimplemented("unknown service");
  EXPECT_EQ(ResultOf(seen, "claims.served").level, Level::kBad);
}

TEST(ClaimChecks, WithoutAClusterPreparingIsNotChecked) {
  Observations seen = GoodObservations();
  seen.claims.no_claim = "no cluster given";
  seen.claims.prepare.reset();
  const CheckResult result = ResultOf(seen, "claims.prepare");
  EXPECT_EQ(result.level, Level::kUnknown);
  EXPECT_EQ(result.seen, "no cluster given");
  EXPECT_EQ(ResultOf(seen, "claims.unprepare-unknown").level, Level::kGood);
}

TEST(ClaimChecks, AShareIdIsNotMissedInV1Beta1) {
  Observations seen = GoodObservations();
  EntryOf(*seen.claims.prepare).devices[0].share_id = "s1";
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
}

}  // namespace
}  // namespace galen::conformance
