#include "sdk/app/registration_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protos/pluginregistration/v1/registration.pb.h"
#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using ::testing::ElementsAre;
namespace wire = ::pluginregistration;

constexpr char kSocket[] = "/plugins_registry/fpga.example.com-reg.sock";

class RegistrationServiceTest : public ::testing::Test {
 protected:
  void Serve(bool has_health) {
    service_ = std::make_unique<RegistrationService>(
        NullLog(), node_.metrics,
        RegistrationService::Options{.driver = "fpga.example.com",
                                     .endpoint = "/plugins/fpga.example.com/dra.sock",
                                     .has_health = has_health});
    service_->Serve(dispatcher_);
    service_->OnOutcome([this](const std::string& refusal) { told_.push_back(refusal); });
    node_.network.Listen(std::string("unix:") + kSocket, dispatcher_);
  }
  wire::PluginInfo GetInfo() {
    return *node_.Connect(kSocket).Call<wire::PluginInfo>(
        "/pluginregistration.Registration/GetInfo", wire::InfoRequest());
  }
  void Notify(bool registered, const std::string& error) {
    wire::RegistrationStatus status;
    status.set_plugin_registered(registered);
    status.set_error(error);
    FakeCaller caller = node_.Connect(kSocket);
    EXPECT_TRUE(caller
                    .Call<wire::RegistrationStatusResponse>(
                        "/pluginregistration.Registration/NotifyRegistrationStatus", status)
                    .ok());
  }

  FakeNode node_;
  rpc::Dispatcher dispatcher_{node_.loop};
  std::unique_ptr<RegistrationService> service_;
  std::vector<std::string> told_;
};

TEST_F(RegistrationServiceTest, SaysWhatTheDriverIs) {
  Serve(true);
  const wire::PluginInfo info = GetInfo();
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), "fpga.example.com");
  EXPECT_EQ(info.endpoint(), "/plugins/fpga.example.com/dra.sock");
  EXPECT_THAT(info.supported_versions(),
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                          "v1alpha1.DRAResourceHealth"));
}

TEST_F(RegistrationServiceTest, DoesNotTellOfHealthItDoesNotHave) {
  Serve(false);
  EXPECT_THAT(GetInfo().supported_versions(), ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin"));
}

TEST_F(RegistrationServiceTest, RemembersHowTheRegistrationWent) {
  Serve(true);
  EXPECT_FALSE(service_->registered());
  Notify(true, "");
  EXPECT_TRUE(service_->registered());
  EXPECT_EQ(node_.metrics.Value("galen_driver_registered"), 1);
  Notify(false, "plugin validation failed");
  EXPECT_FALSE(service_->registered());
  EXPECT_EQ(node_.metrics.Value("galen_driver_registered"), 0);
  EXPECT_THAT(told_, ElementsAre("", "plugin validation failed"));
}

TEST_F(RegistrationServiceTest, ARefusalWithoutAReasonIsStillOne) {
  Serve(true);
  Notify(false, "");
  EXPECT_THAT(told_, ElementsAre("no reason given"));
}

}  // namespace
}  // namespace galen::sdk
