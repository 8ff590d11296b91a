// Finding drivers walks a real directory of real sockets, so this test makes them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/log.h"
#include "base/loop/epoll_loop.h"
#include "conformance/examination.h"
#include "conformance/fake_driver.h"
#include "conformance/waiter.h"
#include "net/endpoint/server.h"

namespace galen::conformance {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TargetTest : public ::testing::Test {
 protected:
  TargetTest() { fs::create_directories(Registry() + "/deep/.hidden"); }

  std::string Registry() { return directory_.Path("plugins_registry"); }

  void Serve(const std::string& name, const Info& info) {
    drivers_.push_back(
        std::make_unique<FakeDriver>(*loop_, files_, nullptr, FakeDriver::Script{.info = info}));
    net::ServerOptions options;
    options.address = "unix:" + Registry() + "/" + name;
    servers_.push_back(std::move(
        *net::Server::Start(*loop_, NullLog(), options, drivers_.back()->registration())));
  }

  std::vector<std::string> Find(const std::string& what) {
    const auto found = FindTargets(edges_, what, directory_.path());
    problem_ = found.status().message();
    std::vector<std::string> names;
    if (!found.ok()) return names;
    for (const RegistrationSeen& one : *found) {
      names.push_back(fs::path(one.socket).filename().string());
      EXPECT_EQ(one.kubelet_root, directory_.path());
    }
    return names;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<EpollLoop> loop_ = std::move(*EpollLoop::Create());
  EpollWaiter waiter_{*loop_};
  PosixFileSystem files_;
  Random random_{7};
  std::unique_ptr<net::Dialer> dialer_ = net::MakeDialer(*loop_);
  Edges edges_{*loop_, waiter_, *dialer_, files_, random_, nullptr, {}};
  std::vector<std::unique_ptr<FakeDriver>> drivers_;
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::string problem_;
};

TEST_F(TargetTest, ADirectoryHoldsAllDriversAndNoOtherPlugin) {
  Serve("gpu-reg.sock", {"DRAPlugin", "gpu.example.com", "/g", {}});
  Serve("deep/nic-reg.sock", {"DRAPlugin", "nic.example.com", "/n", {}});
  Serve("csi-reg.sock", {"CSIPlugin", "csi.example.com", "/c", {}});
  Serve(".gone.sock", {"DRAPlugin", "old.example.com", "/o", {}});
  Serve("deep/.hidden/x.sock", {"DRAPlugin", "x.example.com", "/x", {}});
  std::ofstream(Registry() + "/file") << "no socket";
  EXPECT_THAT(Find(Registry()), ElementsAre("nic-reg.sock", "gpu-reg.sock"));
}

TEST_F(TargetTest, ADriverIsFoundByItsName) {
  Serve("a.sock", {"DRAPlugin", "gpu.example.com", "/g", {}});
  Serve("b.sock", {"DRAPlugin", "nic.example.com", "/n", {}});
  EXPECT_THAT(Find("nic.example.com"), ElementsAre("b.sock"));
  EXPECT_THAT(Find("fpga.example.com"), SizeIs(0));
  EXPECT_THAT(problem_, HasSubstr("gpu.example.com, nic.example.com"));
}

TEST_F(TargetTest, ASocketIsTakenAsItIs) {
  Serve("csi.sock", {"CSIPlugin", "csi.example.com", "/c", {}});
  EXPECT_THAT(Find(Registry() + "/csi.sock"), ElementsAre("csi.sock"));
}

TEST_F(TargetTest, NobodyThereIsSaid) {
  EXPECT_THAT(Find(Registry()), SizeIs(0));
  EXPECT_THAT(problem_, HasSubstr(Registry()));
  EXPECT_THAT(Find(Registry() + "/none.sock"), SizeIs(0));
  EXPECT_THAT(problem_, HasSubstr("none.sock"));
}

TEST_F(TargetTest, TheSameNameAndEndpointTwiceAreTwins) {
  Serve("a.sock", {"DRAPlugin", "gpu.example.com", "/g", {}});
  Serve("b.sock", {"DRAPlugin", "gpu.example.com", "/g", {}});
  Serve("c.sock", {"DRAPlugin", "gpu.example.com", "/other", {}});
  const auto found = FindTargets(edges_, Registry(), "");
  ASSERT_TRUE(found.ok());
  EXPECT_THAT((*found)[0].twins, ElementsAre(Registry() + "/b.sock"));
  EXPECT_THAT((*found)[2].twins, SizeIs(0));
  EXPECT_EQ((*found)[0].kubelet_root, directory_.path());
}

TEST_F(TargetTest, ARegistryBesideAKubeletsSocketsIsTheKubelets) {
  EXPECT_EQ(UserOf(Registry()), "");
  fs::create_directories(directory_.Path("pod-resources"));
  std::ofstream(directory_.Path("pod-resources/kubelet.sock")) << "";
  EXPECT_THAT(UserOf(Registry()), HasSubstr("a kubelet's sockets"));
  EXPECT_THAT(UserOf("/var/lib/kubelet/plugins_registry"), HasSubstr("a kubelet's registry"));
  EXPECT_THAT(UserOf("/var/lib/kubelet/plugins_registry/"), HasSubstr("a kubelet's registry"));
  EXPECT_EQ(UserOf("/var/lib/kubelet2/plugins_registry"), "");
}

// An agent in the manager's role is what prepares this driver's claims.
TEST_F(TargetTest, ARegistryThatAnAgentHoldsIsInUse) {
  fs::create_directories(Registry());
  {
    const Fd agent(::open(Registry().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(agent.get(), LOCK_EX | LOCK_NB), 0);
    EXPECT_THAT(UserOf(Registry()), HasSubstr("galen-agent"));
  }
  EXPECT_EQ(UserOf(Registry()), "");
}

}  // namespace
}  // namespace galen::conformance
