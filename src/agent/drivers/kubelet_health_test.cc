#include "agent/drivers/kubelet_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "agent/agent_metrics.h"
#include "agent/health/fake_change_log.h"
#include "agent/holdings/fake_node_view.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using ::testing::IsEmpty;

const std::string kSilentDriver = "ref.example.com";
DeviceId Dev(const std::string& name) { return {kSilentDriver, "node-1", name}; }

// A Pod that holds these devices through one claim, and what the kubelet says of them.
class KubeletHealthTest : public ::testing::Test {
 protected:
  KubeletHealthTest() {
    metric::Declare(metrics_);
    keeper_.emplace(HealthKeeper::Edges{loop_, NullLog(), metrics_, journal_},
                    std::vector<TimeoutRule>{}, [](const std::vector<HealthChange>&) {});
    health_.emplace(KubeletHealth::Edges{loop_, view_, index_, *keeper_, *keeper_},
                    std::set{kSilentDriver}, [this](const std::string&) { return connected_; });
  }

  void Hold(const std::string& pod, const std::vector<std::string>& devices) {
    view_.AddPod(pod);
    std::vector<AllocatedDevice> allocated;
    for (const std::string& device : devices) allocated.push_back({"main", Dev(device)});
    view_.AddClaim(pod + "-gpu", std::move(allocated), pod);
    index_.PodChanged({"default", pod});
  }
  void Says(const std::string& pod, std::vector<kube::ResourceHealth> resources) {
    view_.pods.at({"default", pod}).statuses = {
        {.name = "train", .allocated = {{.name = "claim:gpu", .resources = std::move(resources)}}}};
    health_->Look();
    loop_.RunUntilIdle();
  }
  // "Unhealthy Reported: it fell off the bus"
  std::string Health(const std::string& device) {
    const DeviceHealth health = keeper_->HealthOf(Dev(device));
    return std::string(ToString(health.state)) +
           (health.cause.code.empty() ? "" : " " + health.cause.code) +
           (health.cause.message.empty() ? "" : ": " + health.cause.message);
  }
  static std::string Cdi(const std::string& device) {
    return kSilentDriver + "/test=3c893a24-51e8-4e91-8106-3c91c65e86f0-" + device;
  }

  FakeLoop loop_;
  Metrics metrics_;
  FakeChangeLog journal_;
  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
  std::optional<HealthKeeper> keeper_;
  std::optional<KubeletHealth> health_;
  bool connected_ = true;
};

TEST_F(KubeletHealthTest, IsTakenForTheDeviceWhoseNameTheIdEndsIn) {
  Hold("a", {"dev-0", "dev-1"});
  Says("a", {{Cdi("dev-1"), "Unhealthy", "it fell off the bus"}, {Cdi("dev-0"), "Healthy", ""}});
  EXPECT_EQ(Health("dev-0"), "Healthy");
  EXPECT_EQ(Health("dev-1"), "Unhealthy Reported: it fell off the bus");
}

TEST_F(KubeletHealthTest, AnIdWithoutCdiNamesTheDeviceItself) {
  Hold("a", {"0", "dev-0"});
  Says("a", {{"ref.example.com/node-1/0", "Unhealthy", ""},
             {"ref.example.com/node-1/dev-0", "Healthy", ""}});
  EXPECT_EQ(Health("0"), "Unhealthy Reported");
  EXPECT_EQ(Health("dev-0"), "Healthy");
}

TEST_F(KubeletHealthTest, ANameThatEndsInAnotherIsNotTakenForIt) {
  Hold("a", {"0", "dev-0"});
  Says("a", {{Cdi("0"), "Unhealthy", ""}, {Cdi("dev-0"), "Healthy", ""}});
  EXPECT_EQ(Health("dev-0"), "Healthy");
  EXPECT_EQ(Health("0"), "Unhealthy Reported");
}

TEST_F(KubeletHealthTest, OneDeviceAndOneHealthNeedNoName) {
  Hold("a", {"dev-0"});
  Says("a", {{"vendor.example/card=3", "Unhealthy", "hot"}});
  EXPECT_EQ(Health("dev-0"), "Unhealthy Reported: hot");
}

TEST_F(KubeletHealthTest, DevicesThatCannotBeDistinguishedAreUnknownUnlessAllAreTheSame) {
  Hold("a", {"dev-0", "dev-1"});
  Says("a", {{"vendor.example/card=x", "Healthy", ""}, {"vendor.example/card=y", "Healthy", ""}});
  EXPECT_EQ(Health("dev-0"), "Healthy");
  Says("a", {{"vendor.example/card=x", "Unhealthy", ""}, {"vendor.example/card=y", "Healthy", ""}});
  EXPECT_EQ(Health("dev-0"),
            "Unknown NotReported: the kubelet's entry claim:gpu does not say "
            "which device it means");
}

TEST_F(KubeletHealthTest, HoldsUntilTheNextHoweverLate) {
  Hold("a", {"dev-0"});
  Says("a", {{Cdi("dev-0"), "Healthy", ""}});
  loop_.Advance(std::chrono::hours(48));
  EXPECT_EQ(Health("dev-0"), "Healthy")
      << "the kubelet writes changes only, and keeps the deadline";
}

TEST_F(KubeletHealthTest, WhatNoPodHoldsAnyMoreIsForgotten) {
  Hold("a", {"dev-0"});
  Says("a", {{Cdi("dev-0"), "Unhealthy", ""}});
  view_.pods.clear();
  index_.PodChanged({"default", "a"});
  health_->Look();
  EXPECT_EQ(keeper_->cache().Find(Dev("dev-0")), nullptr);
}

TEST_F(KubeletHealthTest, OfADriverThatIsGoneNothingIsBelievedUntilItIsBack) {
  Hold("a", {"dev-0"});
  Says("a", {{Cdi("dev-0"), "Healthy", ""}});
  connected_ = false;
  keeper_->OnDriverSilent(kSilentDriver, {.code = std::string(cause_code::kDriverGone)});
  Says("a", {{Cdi("dev-0"), "Healthy", ""}});
  EXPECT_EQ(Health("dev-0"), "Unknown DriverGone");
  connected_ = true;
  health_->Look();
  loop_.RunUntilIdle();
  EXPECT_EQ(Health("dev-0"), "Healthy");
}

TEST_F(KubeletHealthTest, OfASharedDeviceTheWorseHealthCountsUntilBothPodsAgree) {
  Hold("a", {"dev-0"});
  Hold("b", {"dev-0"});
  Says("a", {{Cdi("dev-0"), "Unhealthy", "hot"}});
  Says("b", {{Cdi("dev-0"), "Healthy", ""}});
  EXPECT_EQ(Health("dev-0"), "Unhealthy Reported: hot");
  Says("a", {{Cdi("dev-0"), "Healthy", ""}});
  EXPECT_EQ(Health("dev-0"), "Healthy");
}

TEST_F(KubeletHealthTest, OtherDriversAreNotReadFromPods) {
  Hold("a", {"dev-0"});
  view_.pods.at({"default", "a"}).statuses = {
      {.name = "train",
       .allocated = {{.name = "claim:gpu", .resources = {{Cdi("dev-0"), "Unhealthy", ""}}}}}};
  EXPECT_THAT(KubeletHealthOf(view_.pods.at({"default", "a"}), index_.DevicesOf({"default", "a"}),
                              {"other.example.com"}),
              IsEmpty());
}

}  // namespace
}  // namespace galen::agent
