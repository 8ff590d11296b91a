// The checks of kubelet_checks.cc, each finding one thing that is wrong.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;

const std::vector<Flaw>& KubeletFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"kubelet.ready bad"},
       "Ready is False: KubeletNotReady: container runtime is down",
       [](Observations& s) {
         s.api.node->ready = ConditionSeen{"False", "KubeletNotReady", "container runtime is down"};
       }},
      {{"kubelet.ready bad"},
       "no condition Ready",
       [](Observations& s) { s.api.node->ready.reset(); }},
      {{"kubelet.ready bad", "kubelet.version unknown", "drivers.service unknown",
        "drivers.health-version unknown"},
       "knows no node node-7",
       [](Observations& s) { s.api.node = NotFound("nodes \"node-7\" not found"); }},
      {{"kubelet.lease bad"},
       "renewed 3m20s ago",
       [](Observations& s) { s.api.lease->renewed = s.when - 200s; }},
      {{"kubelet.lease bad"},
       "never renewed",
       [](Observations& s) { s.api.lease->renewed.reset(); }},
      {{"kubelet.lease bad"},
       "no lease",
       [](Observations& s) { s.api.lease = NotFound("leases \"node-7\" not found"); }},
      {{"kubelet.version bad"},
       "kubelet v1.37.1, API server v1.36.2",
       [](Observations& s) { s.api.version = *ParseVersion("v1.36.2"); }},
      {{"kubelet.version bad"},
       "kubelet v1.37.1, API server v1.41.0",
       [](Observations& s) { s.api.version = *ParseVersion("v1.41.0"); }},
      {{"kubelet.version bad"},
       "older than 1.34",
       [](Observations& s) { s.api.node->kubelet_version = "v1.33.9"; }},
      {{"kubelet.watchdog warning"},
       "without WatchdogSec",
       [](Observations& s) { s.kubelet.process->watchdog = std::optional<Duration>(); }},
      {{"kubelet.watchdog bad"},
       "WatchdogSec is 2.0 s",
       [](Observations& s) { s.kubelet.process->watchdog = std::optional<Duration>(2s); }},
      {{"kubelet.open-files warning"},
       "process 321 may open 1024 files",
       [](Observations& s) { s.kubelet.process->open_files = std::optional<std::int64_t>(1024); }},
      {{"kubelet.checkpoint bad", "claims.prepared-gone unknown", "cdi.missing unknown"},
       "its checksum is 1",
       [](Observations& s) {
         s.kubelet.prepared = DataLoss("/k/dra_manager_state: its checksum is 1");
       }},
  };
  return kFlaws;
}

TEST(KubeletChecks, EachFindsWhatItIsFor) { ExpectEachIsFound(KubeletFlaws(), KubeletChecks()); }

TEST(KubeletChecks, AnOldKubeletDoesNotAnswerItsWatchdog) {
  Observations seen = GoodObservations();
  seen.api.node->kubelet_version = "v1.31.4";
  EXPECT_EQ(ResultOf(seen, "kubelet.watchdog").level, Level::kBad);
}

TEST(KubeletChecks, ALeaseIsReadByTheApiServersClock) {
  Observations seen = GoodObservations();
  // This machine's clock is a minute ahead; the lease, written by the server's clock, is fresh.
  seen.api.clock->ahead = 60s;
  seen.api.lease->renewed = seen.when - 60s - 8s;
  EXPECT_EQ(ResultOf(seen, "kubelet.lease").level, Level::kGood);
  seen.api.lease->renewed = seen.when - 60s - 50s;
  EXPECT_EQ(ResultOf(seen, "kubelet.lease").level, Level::kBad);
}

TEST(KubeletChecks, AProcessThatMayNotBeReadIsUnknown) {
  Observations seen = GoodObservations();
  seen.kubelet.process->watchdog = PermissionDenied("open environ: Permission denied");
  EXPECT_EQ(ResultOf(seen, "kubelet.watchdog").level, Level::kUnknown);
  seen.kubelet.process = NotFound("no kubelet");
  EXPECT_EQ(ResultOf(seen, "kubelet.open-files").level, Level::kUnknown);
  seen.kubelet.prepared = PermissionDenied("open: Permission denied");
  EXPECT_EQ(ResultOf(seen, "kubelet.checkpoint").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
