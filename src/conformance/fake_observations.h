// What a conforming driver shows, as values, for tests that change one thing in it; and how such a
// test says which checks fail then. For tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "conformance/check.h"

namespace galen::conformance {

inline HealthReportSeen GoodReport(Duration after) {
  using namespace std::chrono_literals;
  HealthReportSeen report{.after = after, .bytes = 100};
  for (const char* name : {"gpu-0", "gpu-1"}) {
    report.devices.push_back({.pool = "node-7",
                              .device = name,
                              .message = "fan at rest",
                              .health = 1,
                              .updated_unix_seconds = 1'795'000'000});
  }
  return report;
}

inline StreamSeen GoodStream(const std::string& version) {
  using namespace std::chrono_literals;
  return {.version = version,
          .reports = {GoodReport(1ms), GoodReport(15s), GoodReport(30s)},
          .report_count = 3,
          .watched = 31s,
          .end = {},
          .first_after = 1ms};
}

inline ClaimsAnswer GoodAnswer(const std::string& uid, const ClaimEntry& entry) {
  return {.answer = {}, .asked = {uid}, .entries = {{uid, entry}}};
}

inline ClaimEntry GoodEntry() {
  return {.devices = {{.requests = {"device"},
                       .pool = "node-7",
                       .device = "gpu-1",
                       .cdi_ids = {"gpu.example.com/claim=u1-gpu-1"},
                       .share_id = ""}},
          .error = ""};
}

inline ClaimsSeen GoodClaims() {
  const ClaimsAnswer empty{.answer = {}, .asked = {}, .entries = {}};
  const ClaimsAnswer refused = GoodAnswer("u9", {.devices = {}, .error = "no such claim"});
  const ClaimsAnswer done = GoodAnswer("u1", {});
  ClaimsSeen claims;
  for (const char* version : {"v1", "v1beta1"}) {
    claims.empty_prepare[version] = claims.empty_unprepare[version] = empty;
  }
  claims.with_unknown_field = empty;
  claims.unprepare_unknown = GoodAnswer("u9", {});
  claims.prepare_missing = refused;
  claims.parallel = {GoodAnswer("u7", {}), GoodAnswer("u8", {})};
  claims.claim = {"default", "c", "u1"};
  claims.allocated = {"device", "node-7", "gpu-1"};
  claims.prepare = claims.prepare_again = claims.other_version = claims.prepare_after =
      GoodAnswer("u1", GoodEntry());
  claims.prepare_parallel = {*claims.prepare, *claims.prepare};
  claims.mixed = ClaimsAnswer{
      .answer = {},
      .asked = {"u1", "u9"},
      .entries = {{"u1", GoodEntry()}, {"u9", {.devices = {}, .error = "no such claim"}}}};
  claims.wrong_uid = claims.not_allocated = refused;
  claims.unprepare = claims.unprepare_again = claims.unprepare_deleted = done;
  return claims;
}

inline Json GoodSlice(const std::string& name, const std::string& device) {
  return Json::MakeObject(
      {{"metadata", Json::MakeObject({{"name", name}})},
       {"spec",
        Json::MakeObject(
            {{"driver", "gpu.example.com"},
             {"nodeName", "node-7"},
             {"pool",
              Json::MakeObject({{"name", "node-7"}, {"generation", 3}, {"resourceSliceCount", 2}})},
             {"devices", Json::MakeArray({Json::MakeObject({{"name", device}})})}})}});
}

inline Observations GoodObservations() {
  using namespace std::chrono_literals;
  Observations seen;
  seen.driver = "gpu.example.com";
  seen.when = WallTime{1'795'000'100s};
  RegistrationSeen& registration = seen.registration;
  registration.socket = "/k/plugins_registry/gpu.example.com-reg.sock";
  registration.info = {
      .answer = {.status = {}, .took = 2ms},
      .info = {.type = "DRAPlugin",
               .name = "gpu.example.com",
               .endpoint = "/k/plugins/gpu.example.com/dra.sock",
               .versions = {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                            "v1alpha1.DRAResourceHealth"}}};
  registration.again = registration.with_unknown_field = registration.info;
  registration.parallel = {registration.info, registration.info};
  registration.endpoint_connect = OkStatus();
  registration.kubelet_root = registration.real_root = "/k";
  registration.real_directory = "/k/plugins/gpu.example.com";
  registration.notified_registered = registration.notified_refused = Answer{};
  registration.after_refusal = registration.info;
  HealthSeen& health = seen.health;
  health.steady = {GoodStream("v1"), GoodStream("v1alpha1")};
  health.crowd = {GoodStream("v1"), GoodStream("v1alpha1")};
  health.shared = health.crowd;
  health.with_unknown_field = health.after_cancel = health.after_break = GoodStream("v1");
  seen.claims = GoodClaims();
  seen.cdi.directories = {"/cdi"};
  seen.cdi.specs = {{.path = "/cdi/gpu.example.com-claim_u1.json",
                     .unreadable = "",
                     .cdi_version = "0.5.0",
                     .kind = "gpu.example.com/claim",
                     .devices = {"u1-gpu-1"},
                     .faults = {},
                     .least_version = "0.3.0"}};
  seen.slices.slices = {GoodSlice("s-0", "gpu-0"), GoodSlice("s-1", "gpu-1")};
  seen.slices.node = "node-7";
  return seen;
}

inline std::vector<std::string> IdsOf(const Observations& seen, Level level) {
  std::vector<std::string> ids;
  for (const CheckResult& result : Judge(seen)) {
    if (result.level == level) ids.push_back(result.id);
  }
  return ids;
}
inline std::vector<std::string> Failures(const Observations& seen) {
  return IdsOf(seen, Level::kBad);
}

// What one check says of what was seen.
inline CheckResult ResultOf(const Observations& seen, std::string_view id) {
  for (CheckResult& result : Judge(seen)) {
    if (result.id == id) return std::move(result);
  }
  ADD_FAILURE() << "there is no check " << id;
  return {};
}

// One thing that is wrong with a driver, and the only check that should say so.
struct Flaw {
  std::string id;
  std::function<void(Observations&)> make;
};

// Each flaw fails its check and no other; together they fail each of `checks`.
inline void ExpectEachFailsAlone(const std::vector<Flaw>& flaws, const std::vector<Check>& checks) {
  std::set<std::string> failed, all;
  for (const Flaw& flaw : flaws) {
    Observations seen = GoodObservations();
    flaw.make(seen);
    EXPECT_THAT(Failures(seen), ::testing::ElementsAre(flaw.id));
    failed.insert(flaw.id);
  }
  for (const Check& check : checks) all.insert(std::string(check.id));
  EXPECT_EQ(failed, all);
}

}  // namespace galen::conformance
