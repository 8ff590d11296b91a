// The checks of claim_checks.cc, each finding one thing that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;

// The driver is gone, its socket with it, and the kubelet has removed its slices.
void EndDriver(Observations& seen) {
  seen.registry->clear();
  seen.api.slices->clear();
  seen.api.all_slices->clear();
}

// The Pod was to be gone ten minutes ago.
void Delete(Observations& seen) { (*seen.api.pods)[0].pod.meta.deleted = seen.when - 10min; }

TEST(ClaimChecks, EachFindsWhatItIsFor) {
  ExpectEachIsFound(
      {
          {{"claims.stuck-pods bad", "claims.driver-gone bad"},
           "train/trainer-0 should be gone for 10m: driver gpu.example.com must unprepare its "
           "claim "
           "and does not run",
           [](Observations& s) {
             EndDriver(s);
             Delete(s);
           }},
          {{"claims.stuck-pods bad"},
           "finalizer example.com/keep holds it",
           [](Observations& s) {
             Delete(s);
             (*s.api.pods)[0].finalizers = {"example.com/keep"};
           }},
          {{"claims.stuck-pods bad"}, "its drivers run", Delete},
          {{"claims.driver-gone bad"}, "claim train/c is of gpu.example.com", EndDriver},
          {{"claims.reserved-gone bad"},
           "train/c is reserved for Pod trainer-9, which is gone",
           [](Observations& s) {
             (*s.api.claims)[0].claim.reserved_for.push_back({{"train", "trainer-9"}, "pod-9"});
             s.api.far_pods["pod-9"] = false;
           }},
          {{"claims.prepared-gone bad"},
           "train/c (claim-0) is prepared, and the claim of that name is another",
           [](Observations& s) { (*s.kubelet.prepared)[0].uid = "claim-0"; }},
          {{"claims.prepared-gone bad"},
           "train/c (claim-1) is prepared, and no such claim exists",
           [](Observations& s) { s.api.claims->clear(); }},
          {{"claims.devices-gone warning"},
           "train/c holds gpu.example.com/node-7/gpu-5",
           [](Observations& s) { (*s.api.claims)[0].claim.devices[0].device.device = "gpu-5"; }},
      },
      ClaimChecks());
}

TEST(ClaimChecks, APodThatIsOnItsWayOutIsNotStuck) {
  Observations seen = GoodObservations();
  (*seen.api.pods)[0].pod.meta.deleted = seen.when + 20s;  // its grace period runs
  EXPECT_EQ(ResultOf(seen, "claims.stuck-pods").level, Level::kGood);
  (*seen.api.pods)[0].pod.meta.deleted = seen.when - 20s;
  EXPECT_EQ(ResultOf(seen, "claims.stuck-pods").level, Level::kGood);
}

TEST(ClaimChecks, AStuckPodIsJudgedByTheApiServersClock) {
  Observations seen = GoodObservations();
  Delete(seen);
  seen.api.clock->ahead = 10min;  // this machine is ahead: for the server the Pod goes just now
  EXPECT_EQ(ResultOf(seen, "claims.stuck-pods").level, Level::kGood);
}

TEST(ClaimChecks, TheKubeletsRecordAloneShowsThatADriverIsGone) {
  Observations seen = GoodObservations();
  seen.registry->clear();
  seen.api.claims = Unavailable("no cluster");
  EXPECT_EQ(ResultOf(seen, "claims.driver-gone").level, Level::kBad);
  seen.kubelet.prepared = PermissionDenied("not root");
  EXPECT_EQ(ResultOf(seen, "claims.driver-gone").level, Level::kUnknown);
}

TEST(ClaimChecks, TheApiAloneShowsThatTheDriverOfAGroupsClaimIsGone) {
  Observations seen = GoodObservations();
  seen.registry->clear();
  seen.kubelet.prepared = PermissionDenied("not root");
  Claim& claim = (*seen.api.claims)[0].claim;
  claim.reserved_for.clear();
  EXPECT_EQ(ResultOf(seen, "claims.driver-gone").level, Level::kGood) << "nobody uses it";
  claim.reserved_for_groups = {"gang"};
  EXPECT_EQ(ResultOf(seen, "claims.driver-gone").level, Level::kBad);
}

TEST(ClaimChecks, ADriverThatHangsIsNotTakenForOneThatIsGone) {
  Observations seen = GoodObservations();
  (*seen.registry)[0].info = DeadlineExceeded("no answer in 1 s");
  EXPECT_EQ(ResultOf(seen, "drivers.answer").level, Level::kBad);
  EXPECT_EQ(ResultOf(seen, "claims.driver-gone").level, Level::kUnknown);
  EXPECT_EQ(ResultOf(seen, "slices.orphaned").level, Level::kUnknown);
  Delete(seen);
  EXPECT_THAT(ResultOf(seen, "claims.stuck-pods").seen,
              ::testing::HasSubstr("must unprepare its claim and does not answer"));
}

TEST(ClaimChecks, AReservationIsOnlyBadWhenThePodIsKnownToBeGone) {
  Observations seen = GoodObservations();
  (*seen.api.claims)[0].claim.reserved_for.push_back({{"train", "t"}, "pod-9"});
  EXPECT_EQ(ResultOf(seen, "claims.reserved-gone").level, Level::kUnknown);
  seen.api.far_pods["pod-9"] = true;  // it is there, and not scheduled yet
  EXPECT_EQ(ResultOf(seen, "claims.reserved-gone").level, Level::kGood);
  seen.api.far_pods["pod-9"] = false;
  (*seen.api.claims)[0].here = false;  // another node's
  EXPECT_EQ(ResultOf(seen, "claims.reserved-gone").level, Level::kGood);
}

}  // namespace
}  // namespace galen::doctor
