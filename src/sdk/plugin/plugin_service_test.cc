#include "sdk/plugin/plugin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/plugin/fake_kubelet.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace device_api = ::v1beta1;

constexpr char kServiceSocket[] = "/k/device-plugins/fpga.sock";

class PluginServiceTest : public ::testing::Test {
 protected:
  PluginServiceTest() {
    service_.Serve(methods_);
    service_.OnKubelet([this](bool listens) { kubelet_.push_back(listens); });
    socket_ = *node_.sockets.Listen(kServiceSocket, methods_);
  }

  std::unique_ptr<FakeListReader> Read() {
    auto reader = std::make_unique<FakeListReader>(node_, kServiceSocket);
    node_.loop.RunUntilIdle();
    return reader;
  }
  template <typename Response, typename Request>
  StatusOr<Response> Ask(const std::string& method, const Request& request) {
    return node_.Connect(kServiceSocket).Call<Response>("/v1beta1.DevicePlugin/" + method, request);
  }

  FakeNode node_;
  std::vector<std::vector<std::string>> given_;
  PluginService service_{NullLog(), node_.metrics,
                         [this](const auto& ids) -> StatusOr<std::vector<std::string>> {
                           given_.push_back(ids);
                           if (ids.at(0) == "bad") return FailedPrecondition("bad is Unhealthy");
                           std::vector<std::string> names;
                           for (const std::string& id : ids) names.push_back("v.com/device=" + id);
                           return names;
                         }};
  rpc::Dispatcher methods_{node_.loop};
  std::unique_ptr<net::ListeningSocket> socket_;
  std::vector<bool> kubelet_;
};

TEST_F(PluginServiceTest, AStreamGetsTheListAtOnceAndEachChange) {
  service_.SetDevices({{"a", {}}});
  const auto reader = Read();
  EXPECT_THAT(reader->lists(), ElementsAre("a Healthy"));
  service_.SetDevices({{"a", {.healthy = false}}, {"b", {}}});
  node_.loop.RunUntilIdle();
  service_.SetDevices({{"a", {.healthy = false}}, {"b", {}}});
  node_.loop.RunUntilIdle();
  EXPECT_THAT(reader->lists(), ElementsAre("a Healthy", "a Unhealthy, b Healthy"));
}

TEST_F(PluginServiceTest, NothingIsSaidBeforeSomethingIsKnown) {
  const auto reader = Read();
  EXPECT_THAT(reader->lists(), SizeIs(0));
  service_.SetDevices({});
  node_.loop.RunUntilIdle();
  EXPECT_THAT(reader->lists(), ElementsAre(""));
}

TEST_F(PluginServiceTest, DevicesAreCountedByTheirHealth) {
  service_.SetDevices({{"a", {}}, {"b", {}}, {"c", {.healthy = false}}});
  const auto count = [this](const char* health) {
    return node_.metrics.Value("galen_driver_plugin_devices", {{"health", health}});
  };
  EXPECT_EQ(count("Healthy"), 2);
  EXPECT_EQ(count("Unhealthy"), 1);
}

TEST_F(PluginServiceTest, ListsInOneTurnAreMerged) {
  service_.SetDevices({{"a", {}}});
  const auto reader = Read();
  for (int i = 0; i < 1000; ++i) service_.SetDevices({{"a", {.healthy = i % 2 == 0}}});
  node_.loop.RunUntilIdle();
  EXPECT_EQ(reader->last(), "a Unhealthy");
  EXPECT_LE(reader->lists().size(), 4u);
}

TEST_F(PluginServiceTest, TheKubeletsNewStreamEndsItsOldOne) {
  service_.SetDevices({{"a", {}}});
  service_.AwaitKubelet(true);
  const auto first = Read();
  EXPECT_THAT(kubelet_, ElementsAre(true));
  service_.AwaitKubelet(true);
  const auto second = Read();
  ASSERT_TRUE(first->end());
  EXPECT_EQ(*first->end(), OkStatus());
  EXPECT_FALSE(second->end());
  EXPECT_EQ(service_.streams(), 1u);
  EXPECT_TRUE(service_.kubelet_listens());
  // Its end is no end of the registration.
  EXPECT_THAT(kubelet_, ElementsAre(true, true));
}

TEST_F(PluginServiceTest, WhoLooksOnIsNotTheKubelet) {
  service_.SetDevices({{"a", {}}});
  const auto stranger = Read();
  EXPECT_FALSE(service_.kubelet_listens());
  service_.AwaitKubelet(true);
  auto kubelet = Read();
  const auto other = Read();
  EXPECT_FALSE(stranger->end());
  EXPECT_FALSE(kubelet->end());
  EXPECT_EQ(other->last(), "a Healthy");
  kubelet.reset();
  node_.loop.RunUntilIdle();
  EXPECT_FALSE(service_.kubelet_listens());
  EXPECT_THAT(kubelet_, ElementsAre(true, false));
}

TEST_F(PluginServiceTest, TooManyStreamsEndTheOldestButNeverTheKubelets) {
  service_.SetDevices({{"a", {}}});
  service_.AwaitKubelet(true);
  const auto kubelet = Read();
  std::vector<std::unique_ptr<FakeListReader>> others;
  for (std::size_t i = 0; i < PluginService::kStreamsMax; ++i) others.push_back(Read());
  EXPECT_EQ(service_.streams(), PluginService::kStreamsMax);
  EXPECT_FALSE(kubelet->end());
  ASSERT_TRUE(others.front()->end());
  EXPECT_EQ(others.front()->end()->code(), Code::kResourceExhausted);
  EXPECT_FALSE(others.at(1)->end());
}

TEST_F(PluginServiceTest, OptionsSayThatPreferencesAreKnown) {
  const auto options =
      Ask<device_api::DevicePluginOptions>("GetDevicePluginOptions", device_api::Empty());
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->get_preferred_allocation_available());
  EXPECT_FALSE(options->pre_start_required());
  EXPECT_TRUE(Ask<device_api::PreStartContainerResponse>("PreStartContainer",
                                                         device_api::PreStartContainerRequest())
                  .ok());
}

TEST_F(PluginServiceTest, EachContainerGetsTheNamesOfItsDevices) {
  device_api::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("a");
  auto& second = *request.add_container_requests();
  second.add_devices_ids("b");
  second.add_devices_ids("c");
  const auto answer = Ask<device_api::AllocateResponse>("Allocate", request);
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  ASSERT_EQ(answer->container_responses_size(), 2);
  EXPECT_EQ(answer->container_responses(0).cdi_devices(0).name(), "v.com/device=a");
  ASSERT_EQ(answer->container_responses(1).cdi_devices_size(), 2);
  EXPECT_EQ(answer->container_responses(1).cdi_devices(1).name(), "v.com/device=c");
}

TEST_F(PluginServiceTest, ARefusalIsOfTheWholeRequest) {
  device_api::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("a");
  request.add_container_requests()->add_devices_ids("bad");
  const auto answer = Ask<device_api::AllocateResponse>("Allocate", request);
  EXPECT_EQ(answer.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(answer.status().message(), HasSubstr("bad is Unhealthy"));
}

TEST_F(PluginServiceTest, TooManyContainersAreRefused) {
  device_api::AllocateRequest allocate;
  device_api::PreferredAllocationRequest prefer;
  for (int i = 0; i <= PluginService::kContainersMax; ++i) {
    allocate.add_container_requests();
    prefer.add_container_requests();
  }
  EXPECT_EQ(Ask<device_api::AllocateResponse>("Allocate", allocate).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Ask<device_api::PreferredAllocationResponse>("GetPreferredAllocation", prefer)
                .status()
                .code(),
            Code::kInvalidArgument);
  EXPECT_THAT(given_, SizeIs(0));
}

TEST_F(PluginServiceTest, PreferencesAreOfTheDevicesOffered) {
  service_.SetDevices({{"a", {.numa_node = 0}}, {"b", {.numa_node = 1}}, {"c", {.numa_node = 1}}});
  device_api::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  for (const char* id : {"a", "b", "c"}) container.add_available_deviceids(id);
  container.add_must_include_deviceids("c");
  container.set_allocation_size(2);
  const auto answer =
      Ask<device_api::PreferredAllocationResponse>("GetPreferredAllocation", request);
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(answer->container_responses(0).deviceids(), ElementsAre("c", "b"));
  container.set_allocation_size(-1);
  EXPECT_EQ(Ask<device_api::PreferredAllocationResponse>("GetPreferredAllocation", request)
                .status()
                .code(),
            Code::kInvalidArgument);
}

TEST_F(PluginServiceTest, StopEndsAllStreamsAndTakesNone) {
  service_.SetDevices({{"a", {}}});
  service_.AwaitKubelet(true);
  const auto kubelet = Read();
  const auto other = Read();
  service_.Stop();
  node_.loop.RunUntilIdle();
  EXPECT_TRUE(kubelet->end() && kubelet->end()->ok());
  EXPECT_TRUE(other->end());
  EXPECT_FALSE(service_.kubelet_listens());
  EXPECT_EQ(Read()->end()->code(), Code::kUnavailable);
  EXPECT_EQ(service_.streams(), 0u);
}

}  // namespace
}  // namespace galen::sdk
