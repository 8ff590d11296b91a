// A whole driver whose devices go two ways: by claims, and by a device plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "protos/dra/v1/dra.pb.h"
#include "sdk/app/driver_app.h"
#include "sdk/fake_cluster.h"
#include "sdk/fake_node.h"
#include "sdk/plugin/fake_kubelet.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace dra = ::k8s::io::kubelet::pkg::apis::dra::v1;

constexpr char kDataSocket[] = "/k/plugins/fpga.example.com/dra.sock";

class DriverWaysTest : public ::testing::Test {
 protected:
  DriverWaysTest() {
    cluster_.AddNode("node-7");
    kubelet_.Start();
  }

  std::unique_ptr<DriverApp> Start(std::vector<std::string> plugin_devices,
                                   const std::string& resource = "example.com/fpga") {
    Driver::Options options{
        .name = "fpga.example.com", .node = "node-7", .kubelet_root = "/k", .cdi_root = "/cdi"};
    options.device_plugin = {.resource = resource, .devices = std::move(plugin_devices)};
    DriverApp::Handlers handlers;
    handlers.prepare = [](const DeviceClaim&) { return CdiEdits{.env = {"FPGA=claim"}}; };
    handlers.device_edits = [](const std::string&) { return CdiEdits{.env = {"FPGA=plugin"}}; };
    handlers.health = [this](HealthWriter& health) {
      if (on_report_) on_report_();
      for (const char* name : {"fpga-0", "fpga-1", "fpga-2"}) {
        name == bad_ ? health.Unhealthy(name, {"LinkDown", "QSFP link down"})
                     : health.Healthy(name);
      }
    };
    auto app =
        DriverApp::Create({node_.loop, NullLog(), metrics_.emplace_back(), node_.random,
                           node_.files, node_.sockets, cluster_.client(), node_.dialer.get()},
                          options, std::move(handlers));
    EXPECT_TRUE(app.ok()) << ToString(app.status());
    EXPECT_EQ((*app)->Publish({{.name = "fpga-0"}, {.name = "fpga-1"}}), OkStatus());
    EXPECT_EQ((*app)->Start(), OkStatus());
    node_.loop.Advance(1s);
    return *std::move(app);
  }

  std::vector<std::string> InSlices() {
    std::vector<std::string> names;
    for (const kube::ResourceSlice& slice : cluster_.Slices()) {
      for (const kube::SliceDevice& device : slice.devices) names.push_back(device.name);
    }
    return names;
  }

  // A claim at the API to which the scheduler gave `device`; the kubelet asks to prepare it.
  std::string MakeClaim(const std::string& device) {
    const Json ns =
        *Json::Parse(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "train"}})");
    EXPECT_TRUE(cluster_.Do(kube::Create(kube::kNamespaces, "", ns)).ok());
    const auto made = cluster_.Do(kube::Create(kube::kResourceClaims, "train",
                                               *Json::Parse(R"({"apiVersion": "resource.k8s.io/v1",
          "kind": "ResourceClaim", "metadata": {"namespace": "train", "name": "c"}, "spec":
          {"devices": {"requests": [{"name": "fpga", "exactly": {"deviceClassName": "f"}}]}}})")));
    kube::PatchOptions options;
    options.subresource = "status";
    const std::string status = R"({"status": {"allocation": {"devices": {"results": [{"request":
      "fpga", "driver": "fpga.example.com", "pool": "node-7", "device": ")" +
                               device + R"("}]}}}})";
    EXPECT_TRUE(cluster_
                    .Do(kube::Patch(kube::kResourceClaims, "train", "c", kube::PatchType::kMerge,
                                    *Json::Parse(status), options))
                    .ok());
    return (*made)["metadata"]["uid"].AsString();
  }
  template <typename Response, typename Request>
  std::string Ask(const std::string& method, const std::string& uid) {
    Request request;
    auto& claim = *request.add_claims();
    claim.set_namespace_("train");
    claim.set_name("c");
    claim.set_uid(uid);
    const auto answer =
        node_.Connect(kDataSocket)
            .Call<Response>("/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/" + method, request);
    EXPECT_TRUE(answer.ok());
    return answer->claims().at(uid).error();
  }
  std::string Prepare(const std::string& uid) {
    return Ask<dra::NodePrepareResourcesResponse, dra::NodePrepareResourcesRequest>(
        "NodePrepareResources", uid);
  }
  std::string Unprepare(const std::string& uid) {
    return Ask<dra::NodeUnprepareResourcesResponse, dra::NodeUnprepareResourcesRequest>(
        "NodeUnprepareResources", uid);
  }

  FakeNode node_;
  std::list<Metrics> metrics_;  // one a process
  FakeCluster cluster_{node_.loop, node_.random};
  FakeKubelet kubelet_{node_};
  std::string bad_;
  std::function<void()> on_report_;
};

TEST_F(DriverWaysTest, WithoutADevicePluginAllGoByClaims) {
  const auto app = Start({}, "");
  EXPECT_THAT(InSlices(), ElementsAre("fpga-0", "fpga-1"));
  EXPECT_THAT(kubelet_.registrations(), SizeIs(0));
}

TEST_F(DriverWaysTest, DevicesOfThePluginAreInNoSliceAndAllOfThemInTheReports) {
  const auto app = Start({});
  EXPECT_THAT(InSlices(), SizeIs(0));
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Healthy");
  FakeCaller caller = node_.Connect(kDataSocket);
  const FakeSubscriber subscriber(caller, "v1");
  node_.loop.RunUntilIdle();
  EXPECT_EQ(subscriber.reports().back().devices_size(), 2);
}

TEST_F(DriverWaysTest, EachDeviceGoesItsWay) {
  const auto app = Start({"*-1"});
  EXPECT_THAT(InSlices(), ElementsAre("fpga-0"));
  EXPECT_EQ(kubelet_.list(), "fpga-1 Healthy");
}

TEST_F(DriverWaysTest, AFaultReachesThePluginsKubeletAtOnceAndItsEndToo) {
  const auto app = Start({"*-1"});
  bad_ = "fpga-1";
  app->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(kubelet_.list(), "fpga-1 Unhealthy");
  bad_ = "";
  app->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(kubelet_.list(), "fpga-1 Healthy");
}

TEST_F(DriverWaysTest, ABadDeviceIsNeverOfferedAsAGoodOne) {
  bad_ = "fpga-2";
  const auto app = Start({});
  // From within a round, as drivers find hardware that was plugged in.
  on_report_ = [&, plugged_in = false]() mutable {
    if (std::exchange(plugged_in, true)) return;
    EXPECT_EQ(app->Publish({{.name = "fpga-0"}, {.name = "fpga-2"}}), OkStatus());
  };
  app->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-2 Unhealthy");
  for (const std::string& list : kubelet_.reader()->lists()) {
    EXPECT_THAT(list, Not(HasSubstr("fpga-2 Healthy")));
  }
}

TEST_F(DriverWaysTest, AClaimOnADeviceOfThePluginIsNotPrepared) {
  const auto app = Start({});
  EXPECT_THAT(Prepare(MakeClaim("fpga-0")), HasSubstr("device fpga-0 is not in this driver's"));
}

TEST_F(DriverWaysTest, ADeviceThatAClaimHasGoesByThePluginOnceItIsFree) {
  auto app = Start({}, "");
  const std::string uid = MakeClaim("fpga-0");
  EXPECT_EQ(Prepare(uid), "");
  app.reset();
  node_.loop.Advance(1s);
  app = Start({});
  EXPECT_EQ(kubelet_.list(), "fpga-1 Healthy");
  // As for a container that starts again: what is prepared is answered still.
  EXPECT_EQ(Prepare(uid), "");
  EXPECT_EQ(Unprepare(uid), "");
  node_.loop.Advance(DevicePlugin::kUpkeepPeriod);
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Healthy");
}

TEST_F(DriverWaysTest, IsReadyWhenTheKubeletReadsTheList) {
  kubelet_.Refuse(Unavailable("not yet"));
  const auto app = Start({});
  EXPECT_THAT(app->WhyNotReady(), HasSubstr("has registered this driver yet"));
  kubelet_.Refuse(OkStatus());
  node_.loop.Advance(1min);
  app->Stop([] {});
  node_.loop.Advance(1s);
  EXPECT_TRUE(kubelet_.reader()->end());
}

}  // namespace
}  // namespace galen::sdk
