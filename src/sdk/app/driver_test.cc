#include "galen/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "api_sim/serving/api_server.h"
#include "api_sim/serving/local_transport.h"
#include "base/files/test_temporary_directory.h"
#include "base/flags.h"
#include "kube/client.h"
#include "kube/request.h"
#include "net/admin_page.h"
#include "net/connection.h"
#include "net/endpoint/server.h"
#include "net/endpoint/test_asker.h"
#include "net/test_loop_runner.h"
#include "protos/dra/v1/dra.pb.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"
#include "sdk/app/driver_inside.h"

namespace galen {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;
namespace dra = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace wire = ::pluginregistration;

// The real thing: the driver's own thread and sockets, an API over TCP, a kubelet on this thread.
class DriverTest : public ::testing::Test {
 protected:
  DriverTest() {
    net::ServerOptions options;
    options.address = "tcp:127.0.0.1:0";
    server_ = std::move(*net::Server::Start(runner_.loop(), NullLog(), options, *api_));
    const std::string address = server_->address().substr(4);
    std::ofstream(directory_.Path("kubeconfig"))
        << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
           "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
           "clusters: [{name: c, cluster: {server: \"http://"
        << address
        << "\"}}]\n"
           "users: [{name: u, user: {}}]\n";
    const Json node = Json::MakeObject({{"apiVersion", "v1"},
                                        {"kind", "Node"},
                                        {"metadata", Json::MakeObject({{"name", "node-7"}})}});
    EXPECT_TRUE(Ask(kube::Create(kube::kNodes, "", node)).ok());
  }

  StatusOr<Json> Ask(net::HttpRequest request) {
    std::optional<StatusOr<Json>> answer;
    const auto call = client_.Do(std::move(request), [&](auto json) { answer = std::move(json); });
    runner_.RunUntil([&] { return answer.has_value(); });
    return *answer;
  }

  Driver::Options Options() {
    Driver::Options options{.name = "fpga.example.com", .node = "node-7"};
    options.kubelet_root = directory_.Path("k");
    options.cdi_root = directory_.Path("cdi");
    options.kubeconfig = directory_.Path("kubeconfig");
    options.log_level = "error";
    options.handle_signals = false;
    return options;
  }
  std::string RegistrationSocket() {
    return directory_.Path("k/plugins_registry/fpga.example.com-reg.sock");
  }
  std::string DataSocket() { return directory_.Path("k/plugins/fpga.example.com/dra.sock"); }

  // Dials until somebody answers: a socket's file is there a moment before it listens.
  std::unique_ptr<net::Connection> Connect(const std::string& path) {
    net::DialOptions options;
    options.target = "unix:" + path;
    std::unique_ptr<net::Connection> connection;
    std::unique_ptr<net::Dialling> dialling;
    runner_.RunUntil([&] {
      if (!dialling && !connection) {
        dialling = dialer_->Dial(options, [&](auto made) {
          if (made.ok()) connection = std::move(*made);
          dialling.reset();
        });
      }
      return connection != nullptr;
    });
    return connection;
  }
  template <typename Response, typename Request>
  Response Call(net::Connection& connection, std::string_view method, const Request& request) {
    rpc::Channel channel(runner_.loop(), connection);
    std::optional<StatusOr<Response>> answer;
    const auto call = rpc::Unary<Response>(channel, method, request, 10s,
                                           [&](auto response) { answer = std::move(response); });
    runner_.RunUntil([&] { return answer.has_value(); });
    EXPECT_TRUE(answer->ok()) << ToString(answer->status());
    return answer->ok() ? **answer : Response();
  }

  TemporaryDirectory directory_;
  net::LoopRunner runner_;
  Random random_{7};
  std::unique_ptr<api_sim::ApiServer> api_ =
      std::move(*api_sim::ApiServer::Create(runner_.loop(), random_, NullLog(), {}));
  api_sim::LocalTransport local_{runner_.loop(), *api_};
  kube::Client client_{runner_.loop(), local_};
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Dialer> dialer_ = net::MakeDialer(runner_.loop());
};

// Runs a driver on a thread of its own; stops and joins it.
class Running {
 public:
  explicit Running(Driver& driver) : driver_(driver), thread_([this] { code_ = driver_.Run(); }) {}
  ~Running() {
    driver_.Stop();
    if (thread_.joinable()) thread_.join();
  }
  int Join() {
    thread_.join();
    return code_;
  }

 private:
  Driver& driver_;
  std::atomic<int> code_ = -1;
  std::thread thread_;
};

struct Reports final : rpc::StreamSink {
  void OnMessage(std::string_view message) override {
    last = *rpc::Decode<v1::NodeWatchResourcesResponse>(message);
    ++count;
  }
  void OnEnd(const Status& status) override { end = status; }
  v1::NodeWatchResourcesResponse last;
  int count = 0;
  std::optional<Status> end;
};

TEST_F(DriverTest, RegistersAndTellsAFaultOverRealSockets) {
  std::atomic<bool> link_down = false;
  Driver driver(Options());
  ASSERT_EQ(driver.Publish({{.name = "fpga-0", .attributes = {{"model", "U250"}}}}), std::nullopt);
  driver.OnHealth(60s, [&](HealthWriter& health) {
    link_down ? health.Unhealthy("fpga-0", {"LinkDown", "QSFP link down"})
              : health.Healthy("fpga-0");
  });
  Running running(driver);

  const auto registration = Connect(RegistrationSocket());
  const auto info = Call<wire::PluginInfo>(
      *registration, "/pluginregistration.Registration/GetInfo", wire::InfoRequest());
  EXPECT_EQ(info.name(), "fpga.example.com");
  EXPECT_EQ(info.endpoint(), DataSocket());

  const auto data = Connect(info.endpoint());
  rpc::Channel channel(runner_.loop(), *data);
  Reports reports;
  const auto stream = channel.ServerStream("/v1.DRAResourceHealth/NodeWatchResources", "", reports);
  runner_.RunUntil([&] { return reports.count == 1; });
  EXPECT_EQ(reports.last.devices(0).health(), v1::HEALTHY);
  link_down = true;
  driver.HealthChanged();
  runner_.RunUntil([&] { return reports.count == 2; });
  EXPECT_EQ(reports.last.devices(0).health(), v1::UNHEALTHY);
  EXPECT_EQ(reports.last.devices(0).message(), "QSFP link down");

  // Written by a connection of its own, so maybe after all this.
  Json slices;
  for (int i = 0; i < 10'000 && slices["items"].items().empty(); ++i) {
    slices = *Ask(kube::List(kube::kResourceSlices, "", {}));
  }
  ASSERT_EQ(slices["items"].items().size(), 1u);

  driver.Stop();
  runner_.RunUntil([&] { return reports.end.has_value(); });
  EXPECT_EQ(*reports.end, OkStatus());
  EXPECT_EQ(running.Join(), 0);
  EXPECT_FALSE(fs::exists(RegistrationSocket()));
  EXPECT_FALSE(fs::exists(DataSocket()));
}

TEST_F(DriverTest, PutsItsSocketsBackWhenTheRegistryIsRemoved) {
  Driver driver(Options());
  ASSERT_EQ(driver.Publish({{.name = "fpga-0"}}), std::nullopt);
  Running running(driver);
  Connect(RegistrationSocket());
  // Each in one step: file by file, the driver would put back what is being removed.
  fs::rename(fs::path(RegistrationSocket()).parent_path(), directory_.Path("gone-registry"));
  fs::rename(fs::path(DataSocket()).parent_path(), directory_.Path("gone-plugin"));
  runner_.RunUntil([&] { return fs::exists(RegistrationSocket()) && fs::exists(DataSocket()); });
  const auto registration = Connect(RegistrationSocket());
  EXPECT_EQ(Call<wire::PluginInfo>(*registration, "/pluginregistration.Registration/GetInfo",
                                   wire::InfoRequest())
                .name(),
            "fpga.example.com");
}

TEST_F(DriverTest, WhatTheAuthorsCodeThrowsIsThatClaimsError) {
  const Json ns = *Json::Parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"t"}})");
  ASSERT_TRUE(Ask(kube::Create(kube::kNamespaces, "", ns)).ok());
  const Json claim = *Json::Parse(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"namespace": "t", "name": "c"},
    "spec": {"devices": {"requests": [{"name": "fpga", "exactly": {"deviceClassName": "fpga"}}]}}})");
  const Json made = *Ask(kube::Create(kube::kResourceClaims, "t", claim));
  kube::PatchOptions status;
  status.subresource = "status";
  ASSERT_TRUE(Ask(kube::Patch(kube::kResourceClaims, "t", "c", kube::PatchType::kMerge,
                              *Json::Parse(R"({"status": {"allocation": {"devices": {"results": [
    {"request": "fpga", "driver": "fpga.example.com", "pool": "node-7", "device": "fpga-0"}]}}}})"),
                              status))
                  .ok());
  Driver driver(Options());
  ASSERT_EQ(driver.Publish({{.name = "fpga-0"}}), std::nullopt);
  int asked = 0;
  driver.OnPrepare([&](const DeviceClaim&) -> Prepared {
    if (asked++ == 0) throw std::runtime_error("no bitstream");
    throw 42;
  });
  driver.OnUnprepare([](const DeviceClaim&) -> std::optional<Failure> { throw "no message"; });
  driver.OnHealth(1h, [](HealthWriter&) { throw 43; });
  Running running(driver);
  const auto data = Connect(DataSocket());
  dra::NodePrepareResourcesRequest request;
  request.add_claims()->set_namespace_("t");
  request.mutable_claims(0)->set_name("c");
  request.mutable_claims(0)->set_uid(made["metadata"]["uid"].AsString());
  const auto answer = Call<dra::NodePrepareResourcesResponse>(
      *data, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", request);
  EXPECT_EQ(answer.claims().begin()->second.error(), "no bitstream");
  // C++ lets a program throw what is no exception.
  const auto number = Call<dra::NodePrepareResourcesResponse>(
      *data, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", request);
  EXPECT_THAT(number.claims().begin()->second.error(), HasSubstr("no std::exception"));
  dra::NodeUnprepareResourcesRequest undo;
  *undo.add_claims() = request.claims(0);
  const auto undone = Call<dra::NodeUnprepareResourcesResponse>(
      *data, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", undo);
  EXPECT_THAT(undone.claims().begin()->second.error(), HasSubstr("no std::exception"));
}

TEST_F(DriverTest, ARoundOfHealthMayNameTheDevicesThatItPublishes) {
  Driver::Options options = Options();
  options.log_level = "warning";
  Driver driver(options);
  driver.OnHealth(60s, [&](HealthWriter& health) {
    EXPECT_EQ(driver.Publish({{.name = "fpga-0"}}), std::nullopt);
    health.Healthy("fpga-0");
  });
  ::testing::internal::CaptureStderr();
  {
    Running running(driver);
    const auto data = Connect(DataSocket());
    rpc::Channel channel(runner_.loop(), *data);
    Reports reports;
    const auto stream =
        channel.ServerStream("/v1.DRAResourceHealth/NodeWatchResources", "", reports);
    runner_.RunUntil([&] { return reports.count > 0; });
    EXPECT_EQ(reports.last.devices_size(), 1);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("not in the inventory")));
}

TEST_F(DriverTest, WithoutDevicesSaysInItsLogThatItHasNoneAndSaysItOnce) {
  Driver::Options options = Options();
  options.log_level = "warning";
  Driver driver(options);
  EXPECT_EQ(driver.Publish({}), std::nullopt);
  int rounds = 0;
  driver.OnHealth(1ms, [&](HealthWriter&) {
    EXPECT_EQ(driver.Publish({}), std::nullopt);
    ++rounds;
  });
  ::testing::internal::CaptureStderr();
  {
    Running running(driver);
    const auto data = Connect(DataSocket());
    rpc::Channel channel(runner_.loop(), *data);
    Reports reports;
    const auto stream =
        channel.ServerStream("/v1.DRAResourceHealth/NodeWatchResources", "", reports);
    runner_.RunUntil([&] { return reports.count > 0; });
  }
  EXPECT_GT(rounds, 0);
  const std::string log = ::testing::internal::GetCapturedStderr();
  const auto first = log.find("the driver has no devices");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("the driver has no devices", first + 1), std::string::npos);
}

TEST_F(DriverTest, SimulatedDevicesAreServedBesideTheKubelet) {
  struct Fans final : sdk::SimulatedDevices {
    std::vector<Sign> InjectableSigns() const override { return {}; }
    std::vector<std::string> Names() const override { return {"fan-0"}; }
    StatusOr<WallTime> Inject(std::string_view, std::string_view, std::string_view) override {
      return Unimplemented("");
    }
  } fans;
  Driver driver(Options());
  ASSERT_TRUE(sdk::DriverInside::Of(driver).has_value());
  sdk::DriverInside::Simulate(driver, fans);
  Running running(driver);
  const auto data = Connect(DataSocket());
  const auto listed = Call<simulator::v1::ListSignsResponse>(
      *data, "/galen.simulator.v1.Simulator/ListSigns", simulator::v1::ListSignsRequest());
  EXPECT_EQ(listed.devices(0), "fan-0");
}

TEST_F(DriverTest, ServesItsMetrics) {
  Driver::Options options = Options();
  options.metrics_address = "unix:" + directory_.Path("metrics.sock");
  Driver driver(options);
  Running running(driver);
  runner_.RunUntil([&] { return std::filesystem::exists(directory_.Path("metrics.sock")); });
  const std::string page =
      net::AskOverHttp1(runner_, options.metrics_address, {.method = "GET", .path = "/metrics"});
  EXPECT_THAT(page, HasSubstr("galen_driver_registered 0"));
}

TEST_F(DriverTest, ServesItsMetricsToThisMachineAloneAndWithinThePagesLimits) {
  Driver::Options options = Options();
  options.metrics_address = ":0";
  options.log_level = "info";
  std::string log;
  {
    testing::internal::CaptureStderr();
    Driver driver(options);
    Running running(driver);
    Connect(RegistrationSocket());
    log = testing::internal::GetCapturedStderr();
  }
  EXPECT_THAT(log, HasSubstr("address=tcp:127.0.0.1:"));
  options.metrics_address = "unix:" + directory_.Path("metrics.sock");
  options.log_level = "error";
  Driver driver(options);
  Running running(driver);
  const std::string size = std::to_string(net::AdminPage::kRequestBodyBytesMax + 1);
  EXPECT_THAT(net::AskOverHttp1(runner_, options.metrics_address,
                                {.method = "GET",
                                 .path = "/metrics",
                                 .headers = {{"content-length", size}},
                                 .body = std::string(std::stoul(size), 'x')}),
              StartsWith("HTTP/1.1 413"));
}

TEST_F(DriverTest, ASecondOneOfTheSameNameDoesNotStart) {
  Driver first(Options());
  Running running(first);
  Connect(RegistrationSocket());
  Driver second(Options());
  EXPECT_EQ(second.Run(), 1);
  EXPECT_TRUE(fs::exists(RegistrationSocket()));
}

TEST_F(DriverTest, WrongOptionsStartNothing) {
  Driver::Options options = Options();
  options.node = "";
  EXPECT_EQ(Driver(options).Run(), kExitUsage);
  options = Options();
  options.kubeconfig = directory_.Path("no-such-file");
  EXPECT_EQ(Driver(options).Run(), kExitUsage);
  EXPECT_FALSE(fs::exists(directory_.Path("k")));
}

TEST_F(DriverTest, AWrongInventoryStartsNothing) {
  Driver driver(Options());
  const auto failure = driver.Publish({{.name = "Card 0"}});
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->message, HasSubstr("Card 0"));
  EXPECT_EQ(driver.Run(), kExitUsage);
}

TEST_F(DriverTest, StoppedBeforeItRunsItEndsAtOnce) {
  Driver driver(Options());
  driver.Stop();
  EXPECT_EQ(driver.Run(), 0);
}

}  // namespace
}  // namespace galen
