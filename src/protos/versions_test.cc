// The kubelet's messages as they are on the wire: every field number by its exact bytes, and each
// version read from what another one wrote.
#include <gtest/gtest.h>

#include <string>

#include "protos/deviceplugin/v1beta1/deviceplugin.pb.h"
#include "protos/dra/v1/dra.pb.h"
#include "protos/dra/v1beta1/dra.pb.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/dra_health/v1alpha1/health.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "protos/podresources/v1/podresources.pb.h"

namespace {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

// A wire format of our own, so that a wrong number in a .proto cannot agree with itself.
std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Number(int field, std::uint64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(value);
}
std::string Text(int field, const std::string& text) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 2) + Varint(text.size()) + text;
}
// Several small numbers of one repeated field, packed as proto3 writes them.
std::string Packed(int field, const std::string& numbers) { return Text(field, numbers); }

template <typename Message>
Message Decoded(const std::string& bytes) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

template <typename To, typename From>
To Carried(const From& from) {
  return Decoded<To>(from.SerializeAsString());
}

std::string DeviceBytes() { return Text(1, Text(1, "node-7") + Text(2, "gpu-3")); }

template <typename Response>
class HealthVersion : public testing::Test {};
using HealthVersions =
    testing::Types<v1::NodeWatchResourcesResponse, v1alpha1::NodeWatchResourcesResponse>;
TYPED_TEST_SUITE(HealthVersion, HealthVersions);

TYPED_TEST(HealthVersion, EncodesEachFieldUnderItsNumber) {
  TypeParam response;
  auto& device = *response.add_devices();
  device.mutable_device()->set_pool_name("node-7");
  device.mutable_device()->set_device_name("gpu-3");
  device.set_health(static_cast<decltype(device.health())>(2));
  device.set_last_updated_time(1'795'269'731);
  device.set_health_check_timeout_seconds(10);
  device.set_message("XID 79");
  EXPECT_EQ(response.SerializeAsString(),
            Text(1, DeviceBytes() + Number(2, 2) + Number(3, 1'795'269'731) + Number(4, 10) +
                        Text(5, "XID 79")));
}

TYPED_TEST(HealthVersion, StatesHaveTheNumbersOfTheKubelet) {
  using Device = std::remove_cvref_t<decltype(TypeParam().devices(0))>;
  const Device unknown = Decoded<Device>("");
  EXPECT_EQ(unknown.health(), static_cast<decltype(unknown.health())>(0));
  const Device unhealthy = Decoded<Device>(Number(2, 2));
  EXPECT_EQ(unhealthy.health(), static_cast<decltype(unhealthy.health())>(2));
  EXPECT_EQ(static_cast<int>(v1::UNKNOWN), 0);
  EXPECT_EQ(static_cast<int>(v1::HEALTHY), 1);
  EXPECT_EQ(static_cast<int>(v1::UNHEALTHY), 2);
  EXPECT_EQ(static_cast<int>(v1alpha1::HEALTHY), 1);
  EXPECT_EQ(static_cast<int>(v1alpha1::UNHEALTHY), 2);
}

TYPED_TEST(HealthVersion, ReadsWhat134WritesWithoutTimeoutAndMessage) {
  const auto response =
      Decoded<TypeParam>(Text(1, DeviceBytes() + Number(2, 1) + Number(3, 1'795'269'731)));
  ASSERT_EQ(response.devices_size(), 1);
  const auto& device = response.devices(0);
  EXPECT_EQ(device.device().device_name(), "gpu-3");
  EXPECT_EQ(static_cast<int>(device.health()), 1);
  EXPECT_EQ(device.last_updated_time(), 1'795'269'731);
  EXPECT_EQ(device.health_check_timeout_seconds(), 0);
  EXPECT_EQ(device.message(), "");
  EXPECT_FALSE(device.has_galen());
}

TYPED_TEST(HealthVersion, ReadsWhat135WritesWithoutMessage) {
  const auto response = Decoded<TypeParam>(Text(1, DeviceBytes() + Number(2, 2) + Number(4, 45)));
  EXPECT_EQ(response.devices(0).health_check_timeout_seconds(), 45);
  EXPECT_EQ(response.devices(0).message(), "");
}

TYPED_TEST(HealthVersion, NegativeTimeoutIsReadAsSuch) {
  const auto response = Decoded<TypeParam>(Text(1, Number(4, static_cast<std::uint64_t>(-1))));
  EXPECT_EQ(response.devices(0).health_check_timeout_seconds(), -1);
}

TYPED_TEST(HealthVersion, SkipsFieldsOfALaterVersion) {
  const auto response =
      Decoded<TypeParam>(Text(1, DeviceBytes() + Text(6, "new") + Number(4681, 1)) + Number(2, 7));
  EXPECT_EQ(response.devices(0).device().pool_name(), "node-7");
}

TYPED_TEST(HealthVersion, OurFindingTravelsInFieldsOfItsOwn) {
  TypeParam response;
  auto& finding = *response.add_devices()->mutable_galen();
  finding.set_sign_unix_nanos(5);
  finding.set_degraded(true);
  finding.set_code("c");
  finding.set_value("v");
  finding.set_threshold("t");
  finding.set_unit("u");
  finding.set_owner("o");
  finding.set_serial("s");
  finding.set_model("m");
  finding.set_sign("k");
  EXPECT_EQ(response.SerializeAsString(),
            Text(1, Text(4680, Number(1, 5) + Number(3, 1) + Text(4, "c") + Text(5, "v") +
                                   Text(6, "t") + Text(7, "u") + Text(8, "o") + Text(9, "s") +
                                   Text(10, "m") + Text(11, "k"))));
}

// What a kubelet knows of a device's health: it has never heard of field 4680.
TEST(HealthVersions, ReaderThatDoesNotKnowOurFindingReadsTheRest) {
  v1::NodeWatchResourcesResponse response;
  auto& device = *response.add_devices();
  device.mutable_device()->set_device_name("gpu-3");
  device.set_message("XID 79");
  device.mutable_galen()->set_code("XidGpuLost");
  const std::string ours = response.devices(0).SerializeAsString();
  // To a message without any field all of it is unknown, field 4680 with its long tag included.
  pluginregistration::RegistrationStatusResponse knows_nothing;
  EXPECT_TRUE(knows_nothing.ParseFromString(ours));
  EXPECT_EQ(ours,
            Text(1, Text(2, "gpu-3")) + Text(5, "XID 79") + Text(4680, Text(4, "XidGpuLost")));
}

TEST(HealthVersions, EachReadsAllThatTheOtherWrites) {
  v1::NodeWatchResourcesResponse response;
  auto& device = *response.add_devices();
  device.mutable_device()->set_pool_name("node-7");
  device.set_health(v1::UNHEALTHY);
  device.set_health_check_timeout_seconds(10);
  device.set_message("XID 79");
  device.mutable_galen()->set_share(0.5);
  const auto older = Carried<v1alpha1::NodeWatchResourcesResponse>(response);
  EXPECT_EQ(older.devices(0).health(), v1alpha1::UNHEALTHY);
  EXPECT_EQ(older.devices(0).message(), "XID 79");
  EXPECT_EQ(older.devices(0).galen().share(), 0.5);
  EXPECT_EQ(Carried<v1::NodeWatchResourcesResponse>(older).SerializeAsString(),
            response.SerializeAsString());
}

TEST(HealthVersions, RequestIsEmpty) {
  EXPECT_EQ(v1::NodeWatchResourcesRequest().SerializeAsString(), "");
  EXPECT_EQ(v1alpha1::NodeWatchResourcesRequest().SerializeAsString(), "");
}

std::string ClaimBytes() { return Text(1, "ns") + Text(2, "uid") + Text(3, "claim"); }

template <typename Claim>
void FillClaim(Claim& claim) {
  claim.set_namespace_("ns");
  claim.set_uid("uid");
  claim.set_name("claim");
}

template <typename Device>
void FillDevice(Device& device) {
  device.add_request_names("gpu");
  device.set_pool_name("node-7");
  device.set_device_name("gpu-3");
  device.add_cdi_device_ids("example.com/gpu=gpu-3");
}

std::string DraDeviceBytes() {
  return Text(1, "gpu") + Text(2, "node-7") + Text(3, "gpu-3") + Text(4, "example.com/gpu=gpu-3");
}

TEST(DraVersions, RequestsEncodeEachFieldUnderItsNumber) {
  dra_v1::NodePrepareResourcesRequest prepare;
  FillClaim(*prepare.add_claims());
  EXPECT_EQ(prepare.SerializeAsString(), Text(1, ClaimBytes()));
  dra_v1beta1::NodeUnprepareResourcesRequest unprepare;
  FillClaim(*unprepare.add_claims());
  EXPECT_EQ(unprepare.SerializeAsString(), Text(1, ClaimBytes()));
  EXPECT_EQ(Carried<dra_v1::NodeUnprepareResourcesRequest>(unprepare).claims(0).uid(), "uid");
  EXPECT_EQ(Carried<dra_v1beta1::NodePrepareResourcesRequest>(prepare).claims(0).name(), "claim");
}

TEST(DraVersions, ResponsesEncodeEachFieldUnderItsNumber) {
  dra_v1::NodePrepareResourcesResponse prepared;
  auto& claim = (*prepared.mutable_claims())["uid"];
  FillDevice(*claim.add_devices());
  claim.mutable_devices(0)->set_share_id("share");
  claim.set_error("no");
  EXPECT_EQ(prepared.SerializeAsString(),
            Text(1, Text(1, "uid") +
                        Text(2, Text(1, DraDeviceBytes() + Text(5, "share")) + Text(2, "no"))));
  dra_v1::NodeUnprepareResourcesResponse unprepared;
  (*unprepared.mutable_claims())["uid"].set_error("no");
  EXPECT_EQ(unprepared.SerializeAsString(), Text(1, Text(1, "uid") + Text(2, Text(1, "no"))));
  EXPECT_EQ(
      Carried<dra_v1beta1::NodeUnprepareResourcesResponse>(unprepared).claims().at("uid").error(),
      "no");
}

TEST(DraVersions, ShareIdMeansNothingToTheOlderVersionAndHarmsNothing) {
  dra_v1::NodePrepareResourceResponse with_share;
  FillDevice(*with_share.add_devices());
  with_share.mutable_devices(0)->set_share_id("share");
  with_share.set_error("after");
  const auto older = Carried<dra_v1beta1::NodePrepareResourceResponse>(with_share);
  EXPECT_EQ(older.devices(0).cdi_device_ids(0), "example.com/gpu=gpu-3");
  EXPECT_EQ(older.error(), "after");

  dra_v1beta1::NodePrepareResourceResponse without;
  FillDevice(*without.add_devices());
  EXPECT_EQ(without.SerializeAsString(), Text(1, DraDeviceBytes()));
  EXPECT_FALSE(Carried<dra_v1::NodePrepareResourceResponse>(without).devices(0).has_share_id());
}

TEST(PluginRegistration, EncodesEachFieldUnderItsNumber) {
  pluginregistration::PluginInfo info;
  info.set_type("DRAPlugin");
  info.set_name("gpu.example.com");
  info.set_endpoint("/dra.sock");
  info.add_supported_versions("v1.DRAPlugin");
  info.add_supported_versions("v1.DRAResourceHealth");
  EXPECT_EQ(info.SerializeAsString(), Text(1, "DRAPlugin") + Text(2, "gpu.example.com") +
                                          Text(3, "/dra.sock") + Text(4, "v1.DRAPlugin") +
                                          Text(4, "v1.DRAResourceHealth"));
  pluginregistration::RegistrationStatus status;
  status.set_plugin_registered(true);
  status.set_error("no");
  EXPECT_EQ(status.SerializeAsString(), Number(1, 1) + Text(2, "no"));
  EXPECT_EQ(pluginregistration::InfoRequest().SerializeAsString(), "");
}

TEST(PodResources, EncodesEachFieldUnderItsNumber) {
  v1::ListPodResourcesResponse list;
  auto& pod = *list.add_pod_resources();
  pod.set_name("trainer-0");
  pod.set_namespace_("train");
  pod.add_cpu_ids(7);
  auto& container = *pod.add_containers();
  container.set_name("c");
  container.add_cpu_ids(1);
  container.add_cpu_ids(2);
  auto& devices = *container.add_devices();
  devices.set_resource_name("r");
  devices.add_device_ids("d");
  devices.mutable_topology()->add_nodes()->set_id(3);
  auto& memory = *container.add_memory();
  memory.set_memory_type("m");
  memory.set_size(4);
  auto& dynamic = *container.add_dynamic_resources();
  dynamic.set_claim_name("claim");
  dynamic.set_claim_namespace("train");
  auto& claimed = *dynamic.add_claim_resources();
  claimed.add_cdi_devices()->set_name("cdi");
  claimed.set_driver_name("gpu.example.com");
  claimed.set_pool_name("node-7");
  claimed.set_device_name("gpu-3");
  claimed.set_share_id("share");

  const std::string claim_bytes =
      Text(2, "claim") + Text(3, "train") +
      Text(4, Text(1, Text(1, "cdi")) + Text(2, "gpu.example.com") + Text(3, "node-7") +
                  Text(4, "gpu-3") + Text(5, "share"));
  const std::string container_bytes =
      Text(1, "c") + Text(2, Text(1, "r") + Text(2, "d") + Text(3, Text(1, Number(1, 3)))) +
      Packed(3, "\x01\x02") + Text(4, Text(1, "m") + Number(2, 4)) + Text(5, claim_bytes);
  EXPECT_EQ(list.SerializeAsString(), Text(1, Text(1, "trainer-0") + Text(2, "train") +
                                                  Text(3, container_bytes) + Packed(4, "\x07")));
}

TEST(PodResources, RequestsAndOtherAnswersEncodeTheirFields) {
  v1::GetPodResourcesRequest get;
  get.set_pod_name("trainer-0");
  get.set_pod_namespace("train");
  EXPECT_EQ(get.SerializeAsString(), Text(1, "trainer-0") + Text(2, "train"));
  v1::GetPodResourcesResponse got;
  got.mutable_pod_resources()->add_memory()->set_size(4);
  EXPECT_EQ(got.SerializeAsString(), Text(1, Text(5, Number(2, 4))));
  v1::AllocatableResourcesResponse all;
  all.add_devices()->set_resource_name("r");
  all.add_cpu_ids(1);
  all.add_memory()->set_size(4);
  EXPECT_EQ(all.SerializeAsString(),
            Text(1, Text(1, "r")) + Packed(2, "\x01") + Text(3, Number(2, 4)));
}

// 1.33 and before wrote the class's name in field 1.
TEST(PodResources, ClassNameOfOlderKubeletsIsSkipped) {
  const auto dynamic = Decoded<v1::DynamicResource>(Text(1, "class") + Text(2, "claim"));
  EXPECT_EQ(dynamic.claim_name(), "claim");
}

TEST(DevicePlugin, RegistrationEncodesEachFieldUnderItsNumber) {
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint("gpu.sock");
  request.set_resource_name("vendor.com/gpu");
  request.mutable_options()->set_pre_start_required(true);
  request.mutable_options()->set_get_preferred_allocation_available(true);
  EXPECT_EQ(request.SerializeAsString(), Text(1, "v1beta1") + Text(2, "gpu.sock") +
                                             Text(3, "vendor.com/gpu") +
                                             Text(4, Number(1, 1) + Number(2, 1)));
  EXPECT_EQ(v1beta1::Empty().SerializeAsString(), "");
}

TEST(DevicePlugin, ListEncodesEachFieldUnderItsNumber) {
  v1beta1::ListAndWatchResponse list;
  auto& device = *list.add_devices();
  device.set_id("gpu-3");
  device.set_health("Unhealthy");
  device.mutable_topology()->add_nodes()->set_id(1);
  EXPECT_EQ(list.SerializeAsString(),
            Text(1, Text(1, "gpu-3") + Text(2, "Unhealthy") + Text(3, Text(1, Number(1, 1)))));
}

TEST(DevicePlugin, PreferenceEncodesEachFieldUnderItsNumber) {
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  container.add_available_deviceids("a");
  container.add_must_include_deviceids("b");
  container.set_allocation_size(2);
  EXPECT_EQ(request.SerializeAsString(), Text(1, Text(1, "a") + Text(2, "b") + Number(3, 2)));
  v1beta1::PreferredAllocationResponse response;
  response.add_container_responses()->add_deviceids("a");
  EXPECT_EQ(response.SerializeAsString(), Text(1, Text(1, "a")));
}

TEST(DevicePlugin, AllocationEncodesEachFieldUnderItsNumber) {
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("gpu-3");
  EXPECT_EQ(request.SerializeAsString(), Text(1, Text(1, "gpu-3")));
  v1beta1::AllocateResponse response;
  auto& container = *response.add_container_responses();
  (*container.mutable_envs())["A"] = "1";
  auto& mount = *container.add_mounts();
  mount.set_container_path("/c");
  mount.set_host_path("/h");
  mount.set_read_only(true);
  auto& node = *container.add_devices();
  node.set_container_path("/dev/c");
  node.set_host_path("/dev/h");
  node.set_permissions("rw");
  (*container.mutable_annotations())["b"] = "2";
  container.add_cdi_devices()->set_name("vendor.com/gpu=gpu-3");
  EXPECT_EQ(
      response.SerializeAsString(),
      Text(1, Text(1, Text(1, "A") + Text(2, "1")) +
                  Text(2, Text(1, "/c") + Text(2, "/h") + Number(3, 1)) +
                  Text(3, Text(1, "/dev/c") + Text(2, "/dev/h") + Text(3, "rw")) +
                  Text(4, Text(1, "b") + Text(2, "2")) + Text(5, Text(1, "vendor.com/gpu=gpu-3"))));
  v1beta1::PreStartContainerRequest start;
  start.add_devices_ids("gpu-3");
  EXPECT_EQ(start.SerializeAsString(), Text(1, "gpu-3"));
  EXPECT_EQ(v1beta1::PreStartContainerResponse().SerializeAsString(), "");
}

}  // namespace
