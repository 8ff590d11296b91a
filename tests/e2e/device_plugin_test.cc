// galen-driver as a device plugin, a real process, and a kubelet's device manager of ours: its list
// follows faults, restarts of either side and a driver that is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "net/connection.h"
#include "net/endpoint/server.h"
#include "protos/deviceplugin/v1beta1/deviceplugin.pb.h"
#include "rpc/typed.h"
#include "tests/e2e/stage.h"

namespace galen::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Takes one plugin, and reads its list.
class Kubelet final : private rpc::StreamSink {
 public:
  Kubelet(Stage& stage, std::string directory)
      : stage_(stage), directory_(std::move(directory)), methods_(stage.loop()) {
    rpc::AddUnary<v1beta1::RegisterRequest, v1beta1::Empty>(
        methods_, "/v1beta1.Registration/Register",
        [this](const v1beta1::RegisterRequest& request, const rpc::Caller&, auto reply) {
          resource_ = request.resource_name();
          reply(v1beta1::Empty());
          Dial(request.endpoint());
        });
  }

  // As a kubelet starts: sockets of former times go.
  void Start() {
    fs::create_directories(directory_);
    for (const auto& entry : fs::directory_iterator(directory_)) fs::remove(entry.path());
    net::ServerOptions options;
    options.address = "unix:" + directory_ + "/kubelet.sock";
    server_ = *net::Server::Start(stage_.loop(), NullLog(), options, methods_);
  }
  void Stop() {
    stream_.reset();
    connection_.reset();
    server_.reset();
    list_ = "stopped";
  }
  // "gpu-0 Healthy, gpu-1 Unhealthy"; "gone" once the stream has ended.
  const std::string& list() const { return list_; }
  const std::string& resource() const { return resource_; }

  StatusOr<v1beta1::AllocateResponse> Allocate(const std::string& device) {
    v1beta1::AllocateRequest request;
    request.add_container_requests()->add_devices_ids(device);
    rpc::Channel channel(stage_.loop(), *connection_);
    std::optional<StatusOr<v1beta1::AllocateResponse>> answer;
    const auto call = rpc::Unary<v1beta1::AllocateResponse>(
        channel, "/v1beta1.DevicePlugin/Allocate", request, 10s,
        [&](auto response) { answer = std::move(response); });
    if (!stage_.Until([&] { return answer.has_value(); })) return Unavailable("no answer");
    return *answer;
  }

 private:
  void Dial(const std::string& endpoint) {
    dialling_ = dialer_->Dial({.target = "unix:" + directory_ + "/" + endpoint}, [this](auto made) {
      ASSERT_TRUE(made.ok()) << ToString(made.status());
      stream_.reset();
      connection_ = std::move(*made);
      rpc::Channel channel(stage_.loop(), *connection_);
      stream_ = channel.ServerStream("/v1beta1.DevicePlugin/ListAndWatch", "", *this);
    });
  }
  void OnMessage(std::string_view message) override {
    const auto list = rpc::Decode<v1beta1::ListAndWatchResponse>(message);
    list_.clear();
    for (const v1beta1::Device& device : list->devices()) {
      list_ += (list_.empty() ? "" : ", ") + device.id() + " " + device.health();
    }
  }
  void OnEnd(const Status&) override { list_ = "gone"; }

  Stage& stage_;
  const std::string directory_;
  rpc::Dispatcher methods_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Dialer> dialer_ = net::MakeDialer(stage_.loop());
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::unique_ptr<rpc::Call> stream_;
  std::string list_ = "nothing";
  std::string resource_;
};

class DevicePluginStory : public ::testing::Test {
 protected:
  DevicePluginStory() {
    // An API server that is away: a device plugin needs none.
    stage_.Write("kubeconfig",
                 "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                 "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                 "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n"
                 "users: [{name: u, user: {}}]\n");
    kubelet_.Start();
  }

  Program& StartDriver() {
    return stage_.Start(
        "galen-driver",
        {"gpu", "--devices", "2", "--node", "node-7", "--kubelet-root", stage_.Path("k"),
         "--cdi-root", stage_.Path("cdi"), "--kubeconfig", stage_.Path("kubeconfig"), "--poll",
         "200ms", "--device-plugin", "example.com/gpu"});
  }
  void Inject(const std::string& device, const std::string& sign) {
    const Outcome outcome =
        stage_.Run({BuiltProgram("galen"), "inject", device, sign, "--driver-socket",
                    stage_.Path("k/plugins/gpu.example.com/dra.sock")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  }
  void ExpectList(const std::string& list) {
    EXPECT_TRUE(stage_.Until([&] { return kubelet_.list() == list; }))
        << kubelet_.list() << " is not " << list;
  }

  Stage stage_;
  Kubelet kubelet_{stage_, stage_.Path("k/device-plugins")};
};

TEST_F(DevicePluginStory, AFaultIsListedAndItsDeviceIsGivenToNobody) {
  StartDriver();
  ExpectList("gpu-0 Healthy, gpu-1 Healthy");
  EXPECT_EQ(kubelet_.resource(), "example.com/gpu");
  const auto given = kubelet_.Allocate("gpu-1");
  ASSERT_TRUE(given.ok()) << ToString(given.status());
  EXPECT_EQ(given->container_responses(0).cdi_devices(0).name(), "gpu.example.com/device=gpu-1");
  EXPECT_THAT(stage_.Read("cdi/gpu.example.com-device.json"), HasSubstr("\"gpu-1\""));
  Inject("gpu-1", "xid=79");
  ExpectList("gpu-0 Healthy, gpu-1 Unhealthy");
  EXPECT_THAT(kubelet_.Allocate("gpu-1").status().message(), HasSubstr("fallen off the bus"));
  Inject("gpu-1", "reset");
  ExpectList("gpu-0 Healthy, gpu-1 Healthy");
}

TEST_F(DevicePluginStory, RestartsOfEitherSideAreFollowed) {
  Program& first = StartDriver();
  ExpectList("gpu-0 Healthy, gpu-1 Healthy");
  Inject("gpu-0", "xid=79");
  ExpectList("gpu-0 Unhealthy, gpu-1 Healthy");
  kubelet_.Stop();
  kubelet_.Start();
  ExpectList("gpu-0 Unhealthy, gpu-1 Healthy");
  first.Signal(SIGKILL);
  ExpectList("gone");
  ASSERT_TRUE(stage_.Until([&] { return !first.running(); }));
  EXPECT_TRUE(stage_.HasFile("cdi/gpu.example.com-device.json"));
  Program& second = StartDriver();
  ExpectList("gpu-0 Unhealthy, gpu-1 Healthy");
  second.Signal(SIGTERM);
  ExpectList("gone");
  EXPECT_TRUE(stage_.Until([&] { return !second.running(); }));
  EXPECT_EQ(second.exit_code(), 0);
  EXPECT_TRUE(stage_.HasFile("cdi/gpu.example.com-device.json"))
      << "a container that starts again in its Pod needs it";
}

}  // namespace
}  // namespace galen::e2e
