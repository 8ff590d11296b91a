// A vendor's driver without health, and a health source that looks at the same hardware: what the
// whole agent makes of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_agent_node.h"
#include "api_sim/objects/fake_objects.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr const char* kVendor = "gpu.vendor.example";

class HealthSourceTest : public ::testing::Test {
 protected:
  explicit HealthSourceTest(std::vector<std::string> versions = {"v1.DRAPlugin"})
      : node_(Role::kObserver) {
    FakePlugin::Options options{.driver = kVendor};
    options.socket = "/var/lib/kubelet/plugins_registry/vendor-reg.sock";
    options.endpoint = "/var/lib/kubelet/plugins/vendor/dra.sock";
    options.versions = std::move(versions);
    Json slice = api_sim::FakeSlice(kVendor, "node-1", {"card-0"});
    slice["spec"]["devices"].MutableItems()[0]["attributes"] = Json::MakeObject(
        {{"resource.kubernetes.io/pciBusID", Json::MakeObject({{"string", "0000:4b:00.0"}})}});
    node_.cluster.AddClass(kVendor, kVendor);
    node_.cluster.AddSlice(slice);
    node_.cluster.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate(kVendor, kVendor));
    node_.AddDriver({"card-0"}, options);
    node_.AddPod("trainer-0", kVendor);
  }
  static FakeReport Card(int health) {
    return {.device = "0000-4b-00-0",
            .health = health,
            .message = health == 2 ? "XID 79: GPU has fallen off the bus" : "",
            .code = health == 2 ? "XidGpuLost" : "",
            .pci_address = "0000:4b:00.0"};
  }
  FakePlugin& AddSource() {
    source_ = std::make_unique<FakePlugin>(
        node_.cluster.loop(), node_.network, node_.sources,
        FakePlugin::Options{.driver = kVendor,
                            .pool = "probe",
                            .socket = "/run/galen/health/vendor.sock",
                            .endpoint = "/run/galen/health/vendor-data.sock",
                            .type = "galen.dev/HealthSource",
                            .versions = {"v1.DRAResourceHealth"}});
    source_->Report({Card(1)});
    source_->Start();
    return *source_;
  }

  AgentNode node_;
  std::unique_ptr<FakePlugin> source_;
};

TEST_F(HealthSourceTest, APodThatHoldsTheVendorsDeviceShowsWhatTheProbesSee) {
  node_.StartAgent();
  node_.Pass(2s);
  EXPECT_THAT(node_.Annotation("trainer-0"), StartsWith("card-0 Unknown"));
  FakePlugin& source = AddSource();
  node_.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(node_.Annotation("trainer-0"), "card-0 Healthy");
  source.Report({Card(2)});
  node_.Pass(1s);
  EXPECT_THAT(node_.Annotation("trainer-0"), StartsWith("card-0 Unhealthy since "));
  EXPECT_THAT(node_.Annotation("trainer-0"),
              HasSubstr("XID 79: GPU has fallen off the bus (seen by Galen's probes)"));
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(node_.Events("trainer-0"), testing::Contains("DeviceUnhealthy x1"));
}

TEST_F(HealthSourceTest, ASourceThatEndsIsUnknownAndItsSuccessorCounts) {
  FakePlugin& source = AddSource();
  node_.StartAgent();
  node_.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(node_.Annotation("trainer-0"), "card-0 Healthy");
  source.Stop();
  node_.Pass(5s);
  EXPECT_THAT(node_.Annotation("trainer-0"), StartsWith("card-0 Unknown since "));
  EXPECT_THAT(node_.Annotation("trainer-0"),
              HasSubstr("health source for gpu.vendor.example is gone"));
  source.Start();
  node_.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(node_.Annotation("trainer-0"), "card-0 Healthy");
}

TEST_F(HealthSourceTest, ARestartOfTheAgentAloneChangesNothingOnThePod) {
  FakePlugin& source = AddSource();
  source.Report({Card(2)});
  node_.StartAgent();
  node_.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  const std::string before = node_.Annotation("trainer-0");
  node_.KillAgent();
  node_.StartAgent();
  // Longer than what was restored holds by itself.
  for (int second = 0; second < 40; ++second) {
    if (second % 15 == 0) source.Report({Card(2)});
    node_.Pass(1s);
    ASSERT_EQ(node_.Annotation("trainer-0"), before) << "after " << second << " s";
  }
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
}

// The driver has health itself and sees nothing of what the probes see.
class BesideHealthTest : public HealthSourceTest {
 protected:
  BesideHealthTest() : HealthSourceTest({"v1.DRAPlugin", "v1.DRAResourceHealth"}) {}
};

TEST_F(BesideHealthTest, ARestartOfTheAgentAloneShowsNoRecovery) {
  FakePlugin& source = AddSource();
  source.Report({Card(2)});
  node_.StartAgent();
  node_.Pass(HeldChanges::kAnnotationCalm);
  const std::string before = node_.Annotation("trainer-0");
  EXPECT_THAT(before, HasSubstr("XID 79"));
  node_.KillAgent();
  source.Kill();
  node_.StartAgent();
  // The driver reports at once, the source a little later.
  for (int tenth = 0; tenth < 50; ++tenth) {
    if (tenth == 5) source.ListenAgain();
    node_.Pass(100ms);
    ASSERT_EQ(node_.Annotation("trainer-0"), before) << "after " << tenth << " tenths";
  }
  source.Report({Card(1)});
  node_.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(node_.Annotation("trainer-0"), "card-0 Healthy");
}

TEST_F(HealthSourceTest, ADriverInTheSourcesDirectoryAndASourceInTheRegistryAreNeither) {
  FakePlugin::Options driver{.socket = "/run/galen/health/gpu.sock",
                             .endpoint = "/run/galen/health/gpu-data.sock"};
  FakePlugin stray(node_.cluster.loop(), node_.network, node_.sources, driver);
  stray.Report({{.device = "gpu-0"}});
  stray.Start();
  FakePlugin::Options source{.driver = "x.example",
                             .socket = "/var/lib/kubelet/plugins_registry/x.sock",
                             .endpoint = "/var/lib/kubelet/plugins/x/dra.sock",
                             .type = "galen.dev/HealthSource"};
  FakePlugin other(node_.cluster.loop(), node_.network, node_.registry, source);
  other.Report({{.device = "gpu-0"}});
  other.Start();
  node_.StartAgent();
  node_.Pass(5s);
  EXPECT_EQ(stray.streams(), 0u);
  EXPECT_EQ(other.streams(), 0u);
}

TEST_F(HealthSourceTest, ADeviceThatNoProbeMatchesSaysSo) {
  FakePlugin& source = AddSource();
  FakeReport other = Card(1);
  other.pci_address = "0000:4c:00.0";
  source.Report({other});
  node_.StartAgent();
  node_.Pass(40s);
  EXPECT_THAT(node_.Annotation("trainer-0"), StartsWith("card-0 Unknown"));
  EXPECT_THAT(node_.Annotation("trainer-0"),
              HasSubstr("no device of its health source has its UUID, PCI address or serial"));
}

}  // namespace
}  // namespace galen::agent
