// The Pod resources API between a kubelet on libgrpc++ and our client, both ways.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <utility>

#include "base/files/test_temporary_directory.h"
#include "net/endpoint/server.h"
#include "net/test_loop_runner.h"
#include "protos/podresources/v1/podresources.grpc.pb.h"
#include "rpc/typed.h"

namespace galen::rpc {
namespace {

using namespace std::chrono_literals;

constexpr const char* kList = "/v1.PodResourcesLister/List";

// More than a window of HTTP/2 and less than a message may have.
constexpr int kDevices = 20'000;

v1::ListPodResourcesResponse Answer() {
  v1::ListPodResourcesResponse answer;
  v1::ContainerDevices& devices = *answer.add_pod_resources()->add_containers()->add_devices();
  devices.set_resource_name("nvidia.com/gpu");
  for (int i = 0; i < kDevices; ++i) devices.add_device_ids("GPU-" + std::to_string(i));
  return answer;
}

class TheirKubelet final : public v1::PodResourcesLister::Service {
 public:
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* answer) override {
    *answer = Answer();
    return grpc::Status::OK;
  }
};

class PodResourcesInterop : public ::testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string address_ = "unix:" + directory_.Path("s");
  net::LoopRunner runner_;
};

TEST_F(PodResourcesInterop, OurClientReadsWhatTheirKubeletSays) {
  TheirKubelet kubelet;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(&kubelet);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::unique_ptr<net::Dialer> dialer = net::MakeDialer(runner_.loop());
  std::unique_ptr<net::Connection> connection;
  const auto dialling = dialer->Dial({.target = address_}, [&](auto made) {
    ASSERT_TRUE(made.ok()) << made.status().message();
    connection = *std::move(made);
  });
  runner_.RunUntil([&] { return connection != nullptr; });
  Channel channel(runner_.loop(), *connection);
  std::optional<StatusOr<std::string>> reply;
  // As the agent asks: the request has no fields, and no bytes.
  const auto call = channel.Unary(
      kList, "", 5s, [&](StatusOr<std::string> bytes) { reply.emplace(std::move(bytes)); });
  runner_.RunUntil([&] { return reply.has_value(); });
  ASSERT_TRUE(reply->ok()) << reply->status().message();
  const auto said = Decode<v1::ListPodResourcesResponse>(**reply);
  ASSERT_TRUE(said.ok());
  const v1::ContainerDevices& devices = said->pod_resources(0).containers(0).devices(0);
  ASSERT_EQ(devices.device_ids_size(), kDevices);
  EXPECT_EQ(devices.device_ids(kDevices - 1), "GPU-" + std::to_string(kDevices - 1));
}

TEST_F(PodResourcesInterop, TheirExporterReadsWhatWeSay) {
  Dispatcher dispatcher(runner_.loop());
  AddUnary<v1::ListPodResourcesRequest, v1::ListPodResourcesResponse>(
      dispatcher, kList, [](const auto&, const Caller&, auto reply) { reply(Answer()); });
  const std::unique_ptr<net::Server> server =
      *net::Server::Start(runner_.loop(), NullLog(), {.address = address_}, dispatcher);
  std::future<int> read = std::async(std::launch::async, [this] {
    const auto stub = v1::PodResourcesLister::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::ListPodResourcesResponse answer;
    if (!stub->List(&context, {}, &answer).ok()) return -1;
    return answer.pod_resources(0).containers(0).devices(0).device_ids_size();
  });
  runner_.RunUntil([&] { return read.wait_for(0s) == std::future_status::ready; });
  EXPECT_EQ(read.get(), kDevices);
}

}  // namespace
}  // namespace galen::rpc
