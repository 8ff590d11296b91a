#include "sdk/app/driver_app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "protos/dra/v1/dra.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "sdk/fake_cluster.h"
#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace dra = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace wire = ::pluginregistration;

constexpr char kRegistration[] = "/k/plugins_registry/fpga.example.com-reg.sock";
constexpr char kData[] = "/k/plugins/fpga.example.com/dra.sock";

Json AllocatedClaim() {
  return *Json::Parse(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"namespace": "train", "name": "c"},
    "spec": {"devices": {"requests": [{"name": "fpga", "exactly": {"deviceClassName": "fpga"}}]}}})");
}

class DriverAppTest : public ::testing::Test {
 protected:
  DriverAppTest() { cluster_.AddNode("node-7"); }

  Driver::Options Options(const std::string& instance = "") {
    Driver::Options options{
        .name = "fpga.example.com", .node = "node-7", .kubelet_root = "/k", .cdi_root = "/cdi"};
    options.instance = instance;
    return options;
  }

  StatusOr<std::unique_ptr<DriverApp>> Make(const Driver::Options& options,
                                            bool with_health = true) {
    DriverApp::Handlers handlers;
    handlers.prepare = [](const DeviceClaim&) { return CdiEdits{.env = {"FPGA=0"}}; };
    handlers.unprepare = [this](const DeviceClaim& claim) {
      unprepared_.push_back(claim.name);
      return std::nullopt;
    };
    if (with_health) {
      handlers.health = [this](HealthWriter& health) {
        link_down_ ? health.Unhealthy("fpga-0", {"LinkDown", "QSFP link down"})
                   : health.Healthy("fpga-0");
      };
    }
    return DriverApp::Create({node_.loop, log_, metrics_.emplace_back(), node_.random, node_.files,
                              node_.sockets, cluster_.client()},
                             options, std::move(handlers));
  }

  std::unique_ptr<DriverApp> Start(const Driver::Options& options, bool with_health = true) {
    std::unique_ptr<DriverApp> app = std::move(*Make(options, with_health));
    EXPECT_EQ(app->Publish({{.name = "fpga-0"}}), OkStatus());
    EXPECT_EQ(app->Start(), OkStatus());
    node_.loop.Advance(1s);
    return app;
  }

  wire::PluginInfo GetInfo(const std::string& socket) {
    return *node_.Connect(socket).Call<wire::PluginInfo>("/pluginregistration.Registration/GetInfo",
                                                         wire::InfoRequest());
  }
  void Notify(const std::string& socket, bool registered) {
    wire::RegistrationStatus status;
    status.set_plugin_registered(registered);
    status.set_error(registered ? "" : "no");
    const auto answer = node_.Connect(socket).Call<wire::RegistrationStatusResponse>(
        "/pluginregistration.Registration/NotifyRegistrationStatus", status);
    EXPECT_TRUE(answer.ok());
  }

  // A claim of fpga-0 at the API; gives its UID.
  std::string MakeClaim() {
    const Json ns =
        *Json::Parse(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "train"}})");
    EXPECT_TRUE(cluster_.Do(kube::Create(kube::kNamespaces, "", ns)).ok());
    const auto made = cluster_.Do(kube::Create(kube::kResourceClaims, "train", AllocatedClaim()));
    EXPECT_TRUE(made.ok()) << ToString(made.status());
    const Json status = *Json::Parse(R"({"status": {"allocation": {"devices": {"results": [
      {"request": "fpga", "driver": "fpga.example.com", "pool": "node-7", "device": "fpga-0"}]}}}})");
    kube::PatchOptions options;
    options.subresource = "status";
    const auto allocated = cluster_.Do(
        kube::Patch(kube::kResourceClaims, "train", "c", kube::PatchType::kMerge, status, options));
    EXPECT_TRUE(allocated.ok()) << ToString(allocated.status());
    return (*made)["metadata"]["uid"].AsString();
  }

  template <typename Request>
  static Request Of(const std::string& uid) {
    Request request;
    auto& claim = *request.add_claims();
    claim.set_namespace_("train");
    claim.set_name("c");
    claim.set_uid(uid);
    return request;
  }
  StatusOr<dra::NodePrepareResourcesResponse> Prepare(const std::string& socket,
                                                      const std::string& uid) {
    return node_.Connect(socket).Call<dra::NodePrepareResourcesResponse>(
        "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
        Of<dra::NodePrepareResourcesRequest>(uid));
  }

  FakeNode node_;
  std::list<Metrics> metrics_;
  FakeCluster cluster_{node_.loop, node_.random};
  bool link_down_ = false;
  std::vector<std::string> unprepared_;
  std::vector<std::string> warnings_;
  Log log_{LogLevel::kWarning, [this] { return node_.loop.WallNow(); },
           [this](LogLevel, std::string_view line) { warnings_.emplace_back(line); }};
};

TEST_F(DriverAppTest, RegistersServesAndPublishes) {
  const auto app = Start(Options());
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kData, kRegistration));
  EXPECT_THAT(app->WhyNotReady(), HasSubstr("has registered this driver yet"));
  const wire::PluginInfo info = GetInfo(kRegistration);
  EXPECT_EQ(info.endpoint(), kData);
  Notify(kRegistration, true);
  EXPECT_EQ(app->WhyNotReady(), "");
  EXPECT_THAT(cluster_.Slices(), SizeIs(1));
}

// Devices are offered all the while, and no claim of them is ever prepared.
TEST_F(DriverAppTest, WarnsOnceWhereNobodyRegistersIt) {
  const auto app = Start(Options());
  node_.loop.Advance(28s);
  EXPECT_THAT(warnings_, IsEmpty());
  node_.loop.Advance(5min);
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_[0], HasSubstr("is the kubelet's root right?"));
  EXPECT_THAT(warnings_[0], HasSubstr(kRegistration));
}

TEST_F(DriverAppTest, DoesNotWarnWhereItIsRegistered) {
  const auto app = Start(Options());
  Notify(kRegistration, true);
  node_.loop.Advance(5min);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(DriverAppTest, AFaultReachesTheKubeletAtOnce) {
  const auto app = Start(Options());
  FakeCaller kubelet = node_.Connect(kData);
  FakeSubscriber subscriber(kubelet, "v1");
  node_.loop.RunUntilIdle();
  EXPECT_EQ(subscriber.Latest("fpga-0").health(), v1::HEALTHY);
  link_down_ = true;
  app->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(subscriber.Latest("fpga-0").health(), v1::UNHEALTHY);
  EXPECT_EQ(subscriber.Latest("fpga-0").galen().code(), "LinkDown");
}

TEST_F(DriverAppTest, WithoutHealthSaysSoAndServesNone) {
  const auto app = Start(Options(), false);
  EXPECT_THAT(GetInfo(kRegistration).supported_versions(),
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin"));
  FakeCaller kubelet = node_.Connect(kData);
  FakeSubscriber subscriber(kubelet, "v1");
  node_.loop.RunUntilIdle();
  EXPECT_EQ(subscriber.end()->code(), Code::kUnimplemented);
}

TEST_F(DriverAppTest, PreparesAClaimAndForgetsItAfterARestart) {
  const std::string uid = MakeClaim();
  auto app = Start(Options());
  const auto prepared = Prepare(kData, uid);
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared->claims().at(uid).error(), "");
  app.reset();  // killed
  ASSERT_TRUE(cluster_.Do(kube::Delete(kube::kResourceClaims, "train", "c")).ok());
  app = Start(Options());
  const auto gone = node_.Connect(kData).Call<dra::NodeUnprepareResourcesResponse>(
      "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",
      Of<dra::NodeUnprepareResourcesRequest>(uid));
  ASSERT_TRUE(gone.ok());
  EXPECT_EQ(gone->claims().at(uid).error(), "");
  EXPECT_THAT(unprepared_, ElementsAre("c"));
  EXPECT_TRUE(node_.files.List("/cdi")->empty());
}

TEST_F(DriverAppTest, AnApiServerThatIsAwayFailsThePrepareUntilItIsBack) {
  const std::string uid = MakeClaim();
  const auto app = Start(Options());
  cluster_.wire().GoAway(true);
  EXPECT_THAT(Prepare(kData, uid)->claims().at(uid).error(),
              HasSubstr("the kubelet will ask again"));
  cluster_.wire().GoAway(false);
  EXPECT_EQ(Prepare(kData, uid)->claims().at(uid).error(), "");
}

TEST_F(DriverAppTest, RegistersAgainWhenTheRegistryWasWiped) {
  const auto app = Start(Options());
  node_.sockets.RemoveFile(kRegistration);
  node_.sockets.RemoveFile(kData);
  node_.loop.Advance(1s);
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kData, kRegistration));
  EXPECT_EQ(GetInfo(kRegistration).name(), "fpga.example.com");
  EXPECT_TRUE(node_.Connect(kData).connected());
}

TEST_F(DriverAppTest, MakesItsRegistrationSocketAgainWhenItIsRefused) {
  int gone = 0;  // outlives the app, whose end is an unlink too
  const auto app = Start(Options());
  node_.sockets.OnChange([&](const std::string& path, bool there) {
    if (path == kRegistration && !there) ++gone;
  });
  Notify(kRegistration, false);
  node_.loop.Advance(5s);
  EXPECT_EQ(gone, 1);
  EXPECT_THAT(node_.sockets.sockets(), Contains(kRegistration));
}

TEST_F(DriverAppTest, StopsInOrderRegistrationThenPreparesThenStreams) {
  const std::string uid = MakeClaim();
  const auto app = Start(Options());
  FakeCaller kubelet = node_.Connect(kData);
  FakeSubscriber subscriber(kubelet, "v1");
  node_.loop.RunUntilIdle();
  StatusOr<dra::NodePrepareResourcesResponse> answer = Unavailable("no answer yet");
  const auto call = rpc::Unary<dra::NodePrepareResourcesResponse>(
      kubelet.channel(), "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
      Of<dra::NodePrepareResourcesRequest>(uid), 45s, [&](auto response) {
        EXPECT_FALSE(subscriber.end().has_value()) << "streams end after prepares";
        answer = std::move(response);
      });
  // The request arrives; its question to the API is still on its way.
  while (app->claims_under_way() == 0) ASSERT_TRUE(node_.loop.Step());
  bool stopped = false;
  app->Stop([&] { stopped = true; });
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kData));
  node_.loop.Advance(1s);
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  EXPECT_EQ(answer->claims().at(uid).error(), "");
  EXPECT_EQ(subscriber.end(), OkStatus());
  EXPECT_TRUE(stopped);
  EXPECT_THAT(node_.sockets.sockets(), IsEmpty());
  EXPECT_THAT(cluster_.Slices(), SizeIs(1)) << "slices stay for the next one";
}

TEST_F(DriverAppTest, APrepareThatHangsDelaysTheStopOnlySoLong) {
  const auto app = Start(Options());
  bool stopped = false;
  cluster_.wire().Hang(true);
  FakeCaller kubelet = node_.Connect(kData);
  const auto call = rpc::Unary<dra::NodePrepareResourcesResponse>(
      kubelet.channel(), "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
      Of<dra::NodePrepareResourcesRequest>("uid-1"), 45s, [](auto) {});
  node_.loop.RunUntilIdle();
  app->Stop([&] { stopped = true; });
  node_.loop.Advance(4s);
  EXPECT_FALSE(stopped);
  node_.loop.Advance(2s);
  EXPECT_TRUE(stopped);
}

TEST_F(DriverAppTest, ARollingUpdateLeavesNoMomentWithoutADriver) {
  bool gap = false;  // outlives both, whose ends are changes too
  const std::string uid = MakeClaim();
  auto older = Start(Options("one"));
  const std::string older_data = older->paths().data;
  ASSERT_EQ(Prepare(older_data, uid)->claims().at(uid).error(), "");
  const auto newer = Start(Options("two"));
  EXPECT_THAT(node_.sockets.sockets(), SizeIs(4));
  bool stopped = false;
  node_.sockets.OnChange(
      [&](const std::string&, bool) { gap |= node_.sockets.sockets().size() < 2; });
  older->Stop([&] { stopped = true; });
  node_.loop.Advance(1s);
  older.reset();
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(gap);
  EXPECT_EQ(GetInfo(newer->paths().registration).endpoint(), newer->paths().data);
  // The newer one knows what the older one prepared.
  EXPECT_EQ(Prepare(newer->paths().data, uid)->claims().at(uid).devices_size(), 1);
  EXPECT_THAT(cluster_.Slices(), SizeIs(1));
}

TEST_F(DriverAppTest, ASecondOneOfTheSameNameIsRefused) {
  const auto app = Start(Options());
  const auto second = Make(Options());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->Start().code(), Code::kAlreadyExists);
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kData, kRegistration));
}

TEST_F(DriverAppTest, OneThatIsRefusedItsPlaceHasTouchedNothing) {
  const std::string uid = MakeClaim();
  const auto app = Start(Options());
  ASSERT_EQ(Prepare(kData, uid)->claims().at(uid).error(), "");
  const std::string cdi_file = "/cdi/fpga.example.com-claim_" + uid + ".json";
  ASSERT_EQ(node_.files.Remove(cdi_file), OkStatus());
  const auto second = Make(Options());
  const auto writes = node_.files.writes();
  ASSERT_EQ((*second)->Start().code(), Code::kAlreadyExists);
  node_.loop.Advance(1s);
  EXPECT_EQ(node_.files.writes(), writes);
}

// Two kubelets on one machine, as in tests of clusters: their runtimes may share a CDI directory.
TEST_F(DriverAppTest, OneOfAnotherKubeletLeavesTheCdiFilesOfARunningPodAlone) {
  const std::string uid = MakeClaim();
  const auto app = Start(Options());
  ASSERT_EQ(Prepare(kData, uid)->claims().at(uid).error(), "");
  Driver::Options elsewhere = Options();
  elsewhere.kubelet_root = "/k2";
  const auto second = Start(elsewhere);
  EXPECT_TRUE(node_.files.Read("/cdi/fpga.example.com-claim_" + uid + ".json").ok());
}

TEST_F(DriverAppTest, RefusesFaultyOptionsAndInventories) {
  EXPECT_EQ(Make({.name = "fpga.example.com"}).status().code(), Code::kInvalidArgument);
  const auto app = Start(Options());
  EXPECT_EQ(app->Publish({{.name = "Bad Name"}}).code(), Code::kInvalidArgument);
  node_.loop.Advance(1s);
  EXPECT_EQ(cluster_.Slices().at(0).devices.at(0).name, "fpga-0");
}

// It could not know which of its records a reboot has undone: two Pods could get one device, or one
// a device that nobody set up.
TEST_F(DriverAppTest, DoesNotStartWhereTheBootIdIsHidden) {
  ASSERT_EQ(node_.files.Remove(std::string(kBootIdPath)), OkStatus());
  const std::unique_ptr<DriverApp> app = std::move(*Make(Options()));
  const Status status = app->Start();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(kBootIdPath));
  EXPECT_THAT(status.message(), HasSubstr("ProcSubset"));
}

}  // namespace
}  // namespace galen::sdk
