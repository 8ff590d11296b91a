#include "sdk/plugin/kubelet_registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/plugin/fake_kubelet.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kOwnSocket[] = "/k/device-plugins/fpga.example.com.sock";

class KubeletRegistrationTest : public ::testing::Test {
 protected:
  KubeletRegistrationTest() {
    service_.Serve(methods_);
    service_.SetDevices({{"fpga-0", {}}});
  }

  void Listen() { socket_ = *node_.sockets.Listen(kOwnSocket, methods_); }
  void StartAll() {
    kubelet_.Start();
    Listen();
    registration_.Start();
    node_.loop.Advance(1s);
  }

  FakeNode node_;
  FakeKubelet kubelet_{node_};
  PluginService service_{NullLog(), node_.metrics, [](const auto&) {
                           return StatusOr<std::vector<std::string>>(std::vector<std::string>());
                         }};
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [] { return WallTime{}; },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  rpc::Dispatcher methods_{node_.loop};
  std::unique_ptr<net::ListeningSocket> socket_;
  KubeletRegistration registration_{
      {node_.loop, log_, node_.metrics, node_.random, node_.sockets, *node_.dialer},
      {.kubelet_socket = "/k/device-plugins/kubelet.sock",
       .endpoint = "fpga.example.com.sock",
       .resource = "example.com/fpga"},
      service_};
};

TEST_F(KubeletRegistrationTest, TellsTheKubeletWhatItIsAndOnce) {
  StartAll();
  ASSERT_THAT(kubelet_.registrations(), SizeIs(1));
  const auto& request = kubelet_.registrations().front();
  EXPECT_EQ(request.version(), "v1beta1");
  EXPECT_EQ(request.endpoint(), "fpga.example.com.sock");
  EXPECT_EQ(request.resource_name(), "example.com/fpga");
  EXPECT_TRUE(request.options().get_preferred_allocation_available());
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy");
  EXPECT_TRUE(registration_.registered());
  EXPECT_EQ(registration_.WhyNot(), "");
  node_.loop.Advance(1h);
  EXPECT_THAT(kubelet_.registrations(), SizeIs(1));
}

TEST_F(KubeletRegistrationTest, WaitsForAKubeletThatIsNotThereYet) {
  Listen();
  registration_.Start();
  node_.loop.Advance(1h);
  EXPECT_THAT(registration_.WhyNot(), HasSubstr("there is no /k/device-plugins/kubelet.sock"));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("there is no /k/device-plugins/kubelet.sock")))
      << "said once";
  kubelet_.Start();
  Listen();
  node_.loop.Advance(100ms);
  EXPECT_TRUE(registration_.registered());
}

TEST_F(KubeletRegistrationTest, FollowsARestartOfTheKubeletAtOnce) {
  StartAll();
  kubelet_.Kill();
  node_.loop.Advance(10min);
  EXPECT_FALSE(registration_.registered());
  EXPECT_THAT(registration_.WhyNot(), HasSubstr("dial"));
  kubelet_.Start();
  Listen();
  node_.loop.Advance(100ms);
  EXPECT_TRUE(registration_.registered());
  EXPECT_THAT(kubelet_.registrations(), SizeIs(2));
}

// As when a kubelet hangs and another one is started in its place: the streams of both are open.
TEST_F(KubeletRegistrationTest, ANewSocketIsANewKubeletAlsoWhileTheOldOneReads) {
  StartAll();
  FakeKubelet next(node_);
  next.Start();
  Listen();
  node_.loop.Advance(100ms);
  EXPECT_THAT(next.registrations(), SizeIs(1));
  EXPECT_EQ(next.list(), "fpga-0 Healthy");
  EXPECT_TRUE(registration_.registered());
}

TEST_F(KubeletRegistrationTest, RegistersAgainWhenTheKubeletLetsGo) {
  StartAll();
  node_.loop.Advance(1min);
  kubelet_.LetGo();
  node_.loop.Advance(1s);
  EXPECT_THAT(kubelet_.registrations(), SizeIs(2));
  EXPECT_TRUE(registration_.registered());
}

TEST_F(KubeletRegistrationTest, AKubeletThatLetsGoAgainAndAgainIsAskedSeldom) {
  StartAll();
  for (int i = 0; i < 600; ++i) {
    kubelet_.LetGo();
    node_.loop.Advance(1s);
  }
  EXPECT_THAT(kubelet_.registrations(), SizeIs(testing::AllOf(testing::Gt(20), testing::Lt(60))));
}

TEST_F(KubeletRegistrationTest, ARefusalIsTriedAgainWithPatience) {
  const Status invalid = InvalidArgument("the ResourceName \"example.com/fpga\" is invalid");
  kubelet_.Refuse(invalid);
  StartAll();
  node_.loop.Advance(10min);
  EXPECT_THAT(kubelet_.registrations(), SizeIs(testing::AllOf(testing::Gt(20), testing::Lt(60))));
  EXPECT_THAT(registration_.WhyNot(), HasSubstr("is invalid"));
  kubelet_.Refuse(OkStatus());
  node_.loop.Advance(31s);
  EXPECT_TRUE(registration_.registered());
  kubelet_.Refuse(invalid);
  kubelet_.LetGo();
  node_.loop.Advance(1min);
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("is invalid")).Times(2))
      << "a line for each time";
}

TEST_F(KubeletRegistrationTest, AKubeletThatHangsIsGivenUpAndAskedAgain) {
  kubelet_.Hang(true);
  StartAll();
  node_.loop.Advance(KubeletRegistration::kDeadline + 1s);
  EXPECT_THAT(kubelet_.registrations(), SizeIs(2));
  kubelet_.Hang(false);
  node_.loop.Advance(1min);
  EXPECT_TRUE(registration_.registered());
}

TEST_F(KubeletRegistrationTest, AYesWithoutAStreamIsNoRegistration) {
  kubelet_.ReadNothing();
  StartAll();
  EXPECT_FALSE(registration_.registered());
  node_.loop.Advance(KubeletRegistration::kStreamWithin + 1s);
  EXPECT_THAT(kubelet_.registrations(), SizeIs(2));
}

// Somebody who looks on while the kubelet is away must not be taken for it.
TEST_F(KubeletRegistrationTest, AStrangersStreamIsNoRegistration) {
  kubelet_.Refuse(Unavailable("not yet"));
  StartAll();
  const FakeListReader stranger(node_, kOwnSocket);
  node_.loop.Advance(1s);
  EXPECT_EQ(stranger.last(), "fpga-0 Healthy");
  EXPECT_FALSE(registration_.registered());
  kubelet_.Refuse(OkStatus());
  node_.loop.Advance(1min);
  EXPECT_TRUE(registration_.registered());
  EXPECT_FALSE(stranger.end());
}

TEST_F(KubeletRegistrationTest, WithoutAWatchItLooksNowAndThen) {
  node_.sockets.FailWatch(ResourceExhausted("no inotify instance is left"));
  Listen();
  registration_.Start();
  node_.loop.Advance(1min);
  kubelet_.Start();
  Listen();
  node_.loop.Advance(KubeletRegistration::kLookPeriod);
  EXPECT_TRUE(registration_.registered());
}

TEST_F(KubeletRegistrationTest, AfterStopNothingIsAsked) {
  StartAll();
  registration_.Stop();
  service_.Stop();
  kubelet_.Stop();
  kubelet_.Start();
  node_.loop.Advance(10min);
  EXPECT_THAT(kubelet_.registrations(), SizeIs(1));
}

TEST_F(KubeletRegistrationTest, WhoStopsWhileTheKubeletIsAskedComplainsOfNothing) {
  kubelet_.Hang(true);
  StartAll();
  registration_.Stop();
  node_.loop.Advance(10min);
  EXPECT_THAT(lines_, testing::IsEmpty());
}

}  // namespace
}  // namespace galen::sdk
