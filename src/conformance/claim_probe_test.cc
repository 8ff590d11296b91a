// What an examination leaves behind: nothing. What it asks for and receives is in
// examination_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "conformance/fake_scene.h"
#include "conformance/probes.h"

namespace galen::conformance {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An API server that lets nobody delete anything.
class RefusesToDelete final : public net::HttpHandler {
 public:
  explicit RefusesToDelete(net::HttpHandler& server) : server_(server) {}
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override {
    if (exchange->request().method != "DELETE") return server_.Handle(std::move(exchange));
    net::Respond(*exchange, 403, "text/plain", "no");
  }

 private:
  net::HttpHandler& server_;
};

TEST(ClaimProbe, InterruptedItStillPutsItsClaimsAway) {
  FakeScene scene;
  scene.Publish();
  FakeDriver& driver = scene.Start();
  driver.script().on_prepare = [&](const std::string&, int, ClaimEntry& entry) {
    if (entry.error.empty()) scene.waiter.Interrupt();
    return OkStatus();
  };
  scene.Run();
  scene.loop.Advance(1s);
  EXPECT_THAT(driver.prepared(), IsEmpty());
  EXPECT_THAT((*scene.Do(kube::List(kube::kResourceClaims, "", {})))["items"].items(), IsEmpty());
}

TEST(ClaimProbe, WhatADriverPreparedThatItShouldHaveRefusedIsPutAwayToo) {
  FakeScene scene;
  scene.Publish();
  FakeDriver& driver =
      scene.Start({.checks_uid = false, .checks_allocation = false, .knows_every_claim = true});
  std::set<std::string> ever;
  driver.script().on_unprepare = [&](int, ClaimEntry&) {
    ever.insert(driver.prepared().begin(), driver.prepared().end());
    return OkStatus();
  };
  scene.Run();
  scene.loop.Advance(1s);
  // The claim, its name with another UID, one without an allocation, and two that nobody has.
  EXPECT_EQ(ever.size(), 5u);
  EXPECT_THAT(driver.prepared(), IsEmpty());
  EXPECT_THAT(*scene.files.List("/cdi"), IsEmpty());
}

TEST(ClaimProbe, WithoutAClusterWhatWasPreparedIsPutAwayToo) {
  FakeScene scene;
  FakeDriver& driver = scene.Start({.knows_every_claim = true});
  scene.edges.api = nullptr;
  scene.Run();
  scene.loop.Advance(1s);
  EXPECT_THAT(driver.prepared(), IsEmpty());
}

TEST(ClaimProbe, AClaimThatCannotBeDeletedIsNamed) {
  FakeScene scene;
  RefusesToDelete server(*scene.server);
  api_sim::LocalTransport transport(scene.loop, server);
  kube::Client client(scene.loop, transport);
  scene.edges.api = &client;
  scene.Publish();
  scene.Start();
  EXPECT_THAT(scene.Run().left_behind,
              ElementsAre(HasSubstr("delete ResourceClaim t/galen-conformance-")));
}

TEST(ClaimProbe, NothingIsLeftBehindByADriverThatBehaves) {
  FakeScene scene;
  scene.Publish();
  FakeDriver& driver = scene.Start();
  EXPECT_THAT(scene.Run().left_behind, IsEmpty());
  EXPECT_THAT(driver.notified(), ElementsAre(true, false, true));
}

TEST(ClaimProbe, ADriverThatCannotBeNotifiedAgainIsNamed) {
  FakeScene scene;
  scene.Publish();
  scene.Start({.ends_when_refused = true});
  EXPECT_THAT(scene.Run().left_behind,
              ElementsAre(HasSubstr("notified again that it is registered: ")));
}

}  // namespace
}  // namespace galen::conformance
