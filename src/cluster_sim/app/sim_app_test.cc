#include "cluster_sim/app/sim_app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/yaml.h"
#include "base/files/fake_file_system.h"
#include "base/loop/epoll_loop.h"

namespace galen::cluster_sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Status Check(std::string listen, bool allow_remote = false) {
  SimOptions options;
  options.listen = std::move(listen);
  options.allow_remote = allow_remote;
  return CheckOptions(options);
}

TEST(SimOptions, OnlyLoopbackUnlessRemoteIsAllowed) {
  for (const char* listen : {"127.0.0.1:0", "localhost:6443", "[::1]:6443", "127.8.8.8:1"}) {
    EXPECT_TRUE(Check(listen).ok()) << listen;
  }
  for (const char* listen : {"0.0.0.0:6443", "[::]:6443", "192.168.1.4:6443", "example.com:1"}) {
    EXPECT_THAT(Check(listen).message(), HasSubstr("--allow-remote")) << listen;
    EXPECT_TRUE(Check(listen, true).ok()) << listen;
  }
}

TEST(SimOptions, AnAddressNeedsHostAndPort) {
  for (const char* listen : {"", "6443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "::1:6443"}) {
    EXPECT_THAT(Check(listen, true).message(), HasSubstr("want host:port")) << listen;
  }
}

TEST(SimOptions, EveryFaultIsNamedAtOnce) {
  SimOptions options;
  options.listen = "nowhere";
  options.node_count = -1;
  options.nodes = {"Bad Name"};
  options.max_pods = 0;
  const Status status = CheckOptions(options);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("--listen"));
  EXPECT_THAT(status.message(), HasSubstr("--nodes is -1"));
  EXPECT_THAT(status.message(), HasSubstr("\"Bad Name\" is no node name"));
  EXPECT_THAT(status.message(), HasSubstr("--max-pods is 0, must be 1..4096"));
}

// It was found while starting, with the exit code of a failure at run time.
TEST(SimOptions, TwoNodesOfOneNameAreAFaultOfTheCommandLine) {
  SimOptions options;
  options.nodes = {"x"};
  options.virtual_nodes = {"x"};
  EXPECT_EQ(CheckOptions(options).message(),
            "node \"x\" is named twice by --nodes, --node and --virtual-node");
  options = {};
  options.node_count = 2;
  options.nodes = {"node-2"};
  EXPECT_THAT(CheckOptions(options).message(), HasSubstr("\"node-2\" is named twice"));
}

class SimAppTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<SimApp>> Start(const SimOptions& options) {
    return SimApp::Start(*loop_, files_, random_, NullLog(), options);
  }

  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  FakeFileSystem files_;
  Random random_{1};
};

TEST_F(SimAppTest, WritesAKubeconfigThatNamesWhereItServes) {
  SimOptions options;
  options.kubeconfig_out = "/kubeconfig";
  const auto app = Start(options);
  ASSERT_TRUE(app.ok()) << app.status().message();
  EXPECT_THAT((*app)->url(), StartsWith("https://127.0.0.1:"));
  const Json config = ParseYaml(files_.Read("/kubeconfig").value()).value();
  EXPECT_EQ(config["clusters"][std::size_t{0}]["cluster"]["server"].AsString(), (*app)->url());
}

TEST_F(SimAppTest, ATokenFileThatCannotBeReadStopsItBeforeItListens) {
  SimOptions options;
  options.token_file = "/tokens";
  options.kubeconfig_out = "/kubeconfig";
  EXPECT_EQ(Start(options).status().code(), Code::kNotFound);
  ASSERT_TRUE(files_.WriteAtomically("/tokens", "nonsense\n", 0600).ok());
  EXPECT_THAT(Start(options).status().message(), StartsWith("/tokens: line 1"));
  EXPECT_FALSE(files_.Read("/kubeconfig").ok());
}

TEST_F(SimAppTest, StopsWhenAskedTo) {
  const auto app = Start({});
  ASSERT_TRUE(app.ok());
  bool stopped = false;
  (*app)->Stop([&] {
    stopped = true;
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace galen::cluster_sim
