#include "sdk/app/simulator_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/endpoint/socket_keeper.h"
#include "protos/galen/simulator/v1/simulator.pb.h"
#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using ::testing::ElementsAre;
namespace simulator = galen::simulator::v1;

struct OneFan final : SimulatedDevices {
  std::vector<Sign> InjectableSigns() const override {
    return {{.name = "speed", .unit = "rpm", .help = "how fast it turns", .usual = "3000"}};
  }
  std::vector<std::string> Names() const override { return {"fan-0"}; }
  StatusOr<WallTime> Inject(std::string_view device, std::string_view sign,
                            std::string_view value) override {
    if (device != "fan-0") return NotFound("there is fan-0 only");
    injected.emplace_back(std::string(sign) + "=" + std::string(value));
    return WallTime(std::chrono::seconds(7));
  }
  std::vector<std::string> injected;
};

class SimulatorServiceTest : public ::testing::Test {
 protected:
  SimulatorServiceTest() {
    ServeSimulator(methods_, fan_);
    EXPECT_EQ(socket_.Start(), OkStatus());
    node_.loop.RunUntilIdle();
  }
  StatusOr<simulator::InjectResponse> Inject(const std::string& device) {
    simulator::InjectRequest request;
    request.set_device(device);
    request.set_sign("speed");
    request.set_value("0");
    return node_.Connect("/k/fan.sock")
        .Call<simulator::InjectResponse>("/galen.simulator.v1.Simulator/Inject", request);
  }

  FakeNode node_;
  OneFan fan_;
  rpc::Dispatcher methods_{node_.loop};
  net::SocketKeeper socket_{
      {node_.loop, NullLog(), node_.random, node_.files, node_.sockets}, "/k/fan.sock", methods_};
};

TEST_F(SimulatorServiceTest, InjectsAndAnswersWithTheTimeOfTheSign) {
  EXPECT_EQ(Inject("fan-0")->injected_unix_nanos(), 7'000'000'000);
  EXPECT_THAT(fan_.injected, ElementsAre("speed=0"));
}

TEST_F(SimulatorServiceTest, RefusesWithTheStatusOfTheDevices) {
  EXPECT_EQ(Inject("fan-1").status(), NotFound("there is fan-0 only"));
}

TEST_F(SimulatorServiceTest, ListsDevicesAndSigns) {
  const auto listed =
      node_.Connect("/k/fan.sock")
          .Call<simulator::ListSignsResponse>("/galen.simulator.v1.Simulator/ListSigns",
                                              simulator::ListSignsRequest());
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(listed->devices(), ElementsAre("fan-0"));
  ASSERT_EQ(listed->signs_size(), 1);
  EXPECT_EQ(listed->signs(0).name(), "speed");
  EXPECT_EQ(listed->signs(0).unit(), "rpm");
  EXPECT_EQ(listed->signs(0).help(), "how fast it turns");
  EXPECT_EQ(listed->signs(0).usual(), "3000");
}

}  // namespace
}  // namespace galen::sdk
