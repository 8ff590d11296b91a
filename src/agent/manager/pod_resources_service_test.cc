#include "agent/manager/pod_resources_service.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/holdings/fake_node_view.h"
#include "base/loop/fake_loop.h"
#include "net/fake_link.h"
#include "protos/podresources/v1/podresources.pb.h"
#include "rpc/channel.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

const DeviceId kServedGpu{"gpu.example.com", "node-1", "gpu-0"};

class PodResourcesServiceTest : public ::testing::Test {
 protected:
  PodResourcesServiceTest() {
    network_.Listen("unix:/agent.sock", dispatcher_);
    kube::Pod& pod = view_.AddPod("a");
    pod.containers.push_back({.name = "beside"});
    view_.AddClaim("a-gpu", {{"main", kServedGpu}}, "a");
    prepared_.ids[{kServedGpu, ""}] = "gpu.example.com/gpu=gpu-0";
    index_.PodChanged(pod.meta.key);
    view_.AddPod("ended").phase = "Succeeded";
  }
  template <typename Response, typename Request>
  StatusOr<Response> Ask(const std::string& method, const Request& request,
                         const std::string& target = "unix:/agent.sock") {
    StatusOr<Response> answer = Internal("no answer");
    std::unique_ptr<net::Connection> connection;
    auto dialling =
        dialer_->Dial({.target = target}, [&](auto made) { connection = std::move(made).value(); });
    loop_.Advance(1s);
    rpc::Channel channel(loop_, *connection);
    auto call = rpc::Unary<Response>(
        channel, "/v1.PodResourcesLister/" + method, request, 5s,
        std::function<void(StatusOr<Response>)>([&](StatusOr<Response> reply) { answer = reply; }));
    loop_.Advance(1s);
    call.reset();
    return answer;
  }

  FakeLoop loop_;
  Random random_{7};
  net::LinkWeather weather_;
  net::FakeNetwork network_{loop_, random_};
  std::unique_ptr<net::Dialer> dialer_ = network_.MakeDialer(weather_);
  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
  rpc::Dispatcher dispatcher_{loop_};
  std::string logged_;
  Log log_{LogLevel::kInfo, [] { return WallTime(); },
           [this](LogLevel, std::string_view line) { logged_ += std::string(line) + "\n"; }};
  PodResourcesService service_{{view_, index_, log_}, dispatcher_};
};

TEST_F(PodResourcesServiceTest, WhatClientsWouldNotTakeIsLeftOutAndSaid) {
  rpc::Dispatcher dispatcher(loop_);
  constexpr std::size_t kFew = 300;
  const PodResourcesService service({view_, index_, log_, kFew}, dispatcher);
  network_.Listen("unix:/small.sock", dispatcher);
  const auto ask = [&] {
    return *Ask<::v1::ListPodResourcesResponse>("List", ::v1::ListPodResourcesRequest(),
                                                "unix:/small.sock");
  };
  EXPECT_EQ(ask().pod_resources_size(), 1);
  EXPECT_EQ(logged_, "");
  for (const std::string name : {"b", "c", "d", "e", "f", "g", "h"}) {
    view_.AddPod(name).containers.push_back({.name = std::string(50, 'x')});
  }
  const ::v1::ListPodResourcesResponse answer = ask();
  EXPECT_LT(answer.ByteSizeLong(), kFew);
  EXPECT_GT(answer.pod_resources_size(), 1);
  EXPECT_LT(answer.pod_resources_size(), 8);
  ask();
  EXPECT_THAT(logged_, ::testing::HasSubstr(
                           fmt::format("leaves Pods out: it is as large as clients take\" pods={} ",
                                       8 - answer.pod_resources_size())));
  EXPECT_EQ(std::count(logged_.begin(), logged_.end(), '\n'), 1) << "once";
}

TEST_F(PodResourcesServiceTest, ListNamesTheDevicesOfEachContainerOfPodsThatRun) {
  const auto answer = Ask<::v1::ListPodResourcesResponse>("List", ::v1::ListPodResourcesRequest());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(answer->pod_resources_size(), 1) << "one that ended holds nothing";
  const ::v1::PodResources& pod = answer->pod_resources(0);
  EXPECT_EQ(pod.namespace_() + "/" + pod.name(), "default/a");
  ASSERT_EQ(pod.containers_size(), 2);
  EXPECT_EQ(pod.containers(0).name(), "train");
  ASSERT_EQ(pod.containers(0).dynamic_resources_size(), 1);
  const ::v1::DynamicResource& claim = pod.containers(0).dynamic_resources(0);
  EXPECT_EQ(claim.claim_namespace() + "/" + claim.claim_name(), "default/a-gpu");
  ASSERT_EQ(claim.claim_resources_size(), 1);
  EXPECT_EQ(claim.claim_resources(0).driver_name(), kServedGpu.driver);
  EXPECT_EQ(claim.claim_resources(0).pool_name(), kServedGpu.pool);
  EXPECT_EQ(claim.claim_resources(0).device_name(), kServedGpu.device);
  EXPECT_EQ(claim.claim_resources(0).cdi_devices(0).name(), "gpu.example.com/gpu=gpu-0");
  EXPECT_EQ(pod.containers(1).dynamic_resources_size(), 0) << "it does not name the claim";
}

TEST_F(PodResourcesServiceTest, GetNamesThoseOfOnePodAndNoneThatIsNotThere) {
  ::v1::GetPodResourcesRequest request;
  request.set_pod_namespace("default");
  request.set_pod_name("a");
  const auto answer = Ask<::v1::GetPodResourcesResponse>("Get", request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->pod_resources().containers(0).dynamic_resources_size(), 1);
  request.set_pod_name("ended");
  EXPECT_EQ(Ask<::v1::GetPodResourcesResponse>("Get", request).status().code(), Code::kNotFound);
}

TEST_F(PodResourcesServiceTest, NothingIsAllocatableByPlugins) {
  const auto answer = Ask<::v1::AllocatableResourcesResponse>("GetAllocatableResources",
                                                              ::v1::AllocatableResourcesRequest());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->devices_size(), 0);
}

}  // namespace
}  // namespace galen::agent
