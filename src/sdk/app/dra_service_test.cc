#include "sdk/app/dra_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/fake_transport.h"
#include "protos/dra/v1/dra.pb.h"
#include "protos/dra/v1beta1/dra.pb.h"
#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace dra_v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;

constexpr char kDraSocket[] = "/plugins/fpga.example.com/dra.sock";
constexpr char kV1[] = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
constexpr char kV1Beta1[] = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/";

class DraServiceTest : public ::testing::Test {
 protected:
  // A call that was answered is under way no more.
  void TearDown() override { EXPECT_TRUE(calls_.empty()); }

  DraServiceTest() {
    // Every claim "uid-N" is allocated device fpga-N by request "fpga"; "gone" is none.
    api_.AnswerBy([](const net::HttpRequest& request) -> kube::FakeTransport::Answer {
      const std::string name = request.path.substr(request.path.rfind('/') + 1);
      if (name == "gone") return {.status = 404};
      return {.body = R"({"metadata":{"namespace":"n","name":")" + name + R"(","uid":"uid-)" +
                      name +
                      R"("},"status":{"allocation":{"devices":{"results":[{"request":"fpga/big",)" +
                      R"("driver":"fpga.example.com","pool":"node-7","device":"fpga-)" + name +
                      R"(","shareID":"s-1"}]}}}})"};
    });
    preparer_.SetInventory({{.name = "fpga-0"}, {.name = "fpga-1"}});
    ServeDra(dispatcher_, preparer_, calls_);
    node_.network.Listen(std::string("unix:") + kDraSocket, dispatcher_);
  }

  template <typename Request>
  static Request Of(const std::vector<std::string>& names) {
    Request request;
    for (const std::string& name : names) {
      auto& claim = *request.add_claims();
      claim.set_namespace_("n");
      claim.set_name(name);
      claim.set_uid("uid-" + name);
    }
    return request;
  }

  FakeNode node_;
  kube::FakeTransport api_{node_.loop};
  kube::Client client_{node_.loop, api_};
  DraCalls calls_;
  ClaimPreparer preparer_{
      {node_.loop, NullLog(), node_.metrics, node_.random, node_.files, node_.sockets, client_},
      {.driver = "fpga.example.com",
       .pool = "node-7",
       .cdi_root = "/cdi",
       .directory = "/claims",
       .lock = "/serialize.lock"},
      {[](const DeviceClaim&) { return CdiEdits{.env = {"A=1"}}; }, nullptr}};
  rpc::Dispatcher dispatcher_{node_.loop};
};

TEST_F(DraServiceTest, PreparesInV1) {
  const auto answer = node_.Connect(kDraSocket)
                          .Call<dra_v1::NodePrepareResourcesResponse>(
                              std::string(kV1) + "NodePrepareResources",
                              Of<dra_v1::NodePrepareResourcesRequest>({"0"}));
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  ASSERT_EQ(answer->claims().size(), 1u);
  const auto& claim = answer->claims().at("uid-0");
  EXPECT_EQ(claim.error(), "");
  ASSERT_EQ(claim.devices_size(), 1);
  EXPECT_THAT(claim.devices(0).request_names(), ElementsAre("fpga"));
  EXPECT_EQ(claim.devices(0).pool_name(), "node-7");
  EXPECT_EQ(claim.devices(0).device_name(), "fpga-0");
  EXPECT_EQ(claim.devices(0).share_id(), "s-1");
  EXPECT_THAT(claim.devices(0).cdi_device_ids(),
              ElementsAre("fpga.example.com/claim=uid-0-fpga-0"));
}

TEST_F(DraServiceTest, PreparesInV1Beta1) {
  const auto answer = node_.Connect(kDraSocket)
                          .Call<v1beta1::NodePrepareResourcesResponse>(
                              std::string(kV1Beta1) + "NodePrepareResources",
                              Of<v1beta1::NodePrepareResourcesRequest>({"0"}));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->claims().at("uid-0").devices(0).device_name(), "fpga-0");
}

TEST_F(DraServiceTest, OneClaimsErrorIsItsOwn) {
  const auto answer = node_.Connect(kDraSocket)
                          .Call<dra_v1::NodePrepareResourcesResponse>(
                              std::string(kV1) + "NodePrepareResources",
                              Of<dra_v1::NodePrepareResourcesRequest>({"0", "gone", "1", "9"}));
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->claims().size(), 4u);
  EXPECT_EQ(answer->claims().at("uid-0").error(), "");
  EXPECT_EQ(answer->claims().at("uid-1").devices_size(), 1);
  EXPECT_THAT(answer->claims().at("uid-gone").error(), HasSubstr("does not exist"));
  EXPECT_THAT(answer->claims().at("uid-9").error(), HasSubstr("not in this driver's inventory"));
}

TEST_F(DraServiceTest, UnpreparesEveryClaimAskedForAlsoUnknownOnes) {
  FakeCaller caller = node_.Connect(kDraSocket);
  ASSERT_TRUE(caller
                  .Call<dra_v1::NodePrepareResourcesResponse>(
                      std::string(kV1) + "NodePrepareResources",
                      Of<dra_v1::NodePrepareResourcesRequest>({"0"}))
                  .ok());
  const auto answer = caller.Call<dra_v1::NodeUnprepareResourcesResponse>(
      std::string(kV1) + "NodeUnprepareResources",
      Of<dra_v1::NodeUnprepareResourcesRequest>({"0", "never"}));
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->claims().size(), 2u);
  EXPECT_EQ(answer->claims().at("uid-0").error(), "");
  EXPECT_EQ(answer->claims().at("uid-never").error(), "");
  EXPECT_TRUE(node_.files.List("/cdi")->empty());
}

TEST_F(DraServiceTest, NoClaimsAreNoFault) {
  const auto answer = node_.Connect(kDraSocket)
                          .Call<v1beta1::NodeUnprepareResourcesResponse>(
                              std::string(kV1Beta1) + "NodeUnprepareResources",
                              v1beta1::NodeUnprepareResourcesRequest());
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->claims().empty());
}

TEST_F(DraServiceTest, TooManyClaimsAreRefusedWhole) {
  const auto answer = node_.Connect(kDraSocket)
                          .Call<dra_v1::NodePrepareResourcesResponse>(
                              std::string(kV1) + "NodePrepareResources",
                              Of<dra_v1::NodePrepareResourcesRequest>(
                                  std::vector<std::string>(kClaimsPerRequestMax + 1, "0")));
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::sdk
