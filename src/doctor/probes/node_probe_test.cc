#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/fake_loop.h"
#include "doctor/probes/probes.h"
#include "net/fake_link.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace registration = ::pluginregistration;
namespace wire = galen::inspect::v1;

// A node's sockets on a network of one thread, and the probe that asks them.
struct Node {
  Node() { registration.AddUnary("/pluginregistration.Registration/GetInfo", GetInfo()); }

  rpc::Dispatcher::UnaryMethod GetInfo() {
    return [this](std::string_view, const rpc::Caller&, rpc::Reply reply) {
      if (hangs) return unanswered.push_back(std::move(reply));
      registration::PluginInfo info;
      info.set_type("DRAPlugin");
      info.set_name("gpu.example.com");
      info.set_endpoint(endpoint);
      info.add_supported_versions("v1.DRAPlugin");
      reply(info.SerializeAsString());
    };
  }

  void Ask() {
    NodeProbe probe(loop, *dialer, [this] { done = true; });
    probe.AskDrivers(entries, "/k");
    probe.AskAgent("/run/agent.sock", agent);
    probe.Start();
    EXPECT_FALSE(done) << "never from inside a call";
    loop.Advance(10s);
    EXPECT_TRUE(done);
  }

  FakeLoop loop;
  Random random{7};
  net::LinkWeather weather;
  net::FakeNetwork network{loop, random};
  std::unique_ptr<net::Dialer> dialer = network.MakeDialer(weather);
  rpc::Dispatcher registration{loop}, driver{loop}, agent_service{loop};
  bool hangs = false, done = false;
  std::string endpoint = "/k/plugins/gpu/dra.sock";
  std::vector<rpc::Reply> unanswered;
  std::vector<RegistryEntry> entries = {{.path = "/k/plugins_registry/gpu.sock"}};
  AgentSeen agent;
};

TEST(NodeProbe, ADriverIsAskedWhoItIsAndItsEndpointIsTried) {
  Node node;
  node.network.Listen("unix:/k/plugins_registry/gpu.sock", node.registration);
  node.network.Listen("unix:/k/plugins/gpu/dra.sock", node.driver);
  node.Ask();
  const RegistryEntry& entry = node.entries[0];
  EXPECT_TRUE(entry.connected.ok());
  ASSERT_TRUE(entry.is_driver());
  EXPECT_EQ(entry.info->name, "gpu.example.com");
  EXPECT_THAT(entry.info->versions, ElementsAre("v1.DRAPlugin"));
  EXPECT_TRUE(entry.endpoint_listens.ok());
}

TEST(NodeProbe, ASocketThatNobodyListensOnIsUnavailable) {
  Node node;
  node.Ask();
  EXPECT_EQ(node.entries[0].connected.code(), Code::kUnavailable);
  EXPECT_FALSE(node.entries[0].info.ok());
}

TEST(NodeProbe, APluginThatDoesNotAnswerIsGivenASecond) {
  Node node;
  node.hangs = true;
  node.network.Listen("unix:/k/plugins_registry/gpu.sock", node.registration);
  node.Ask();
  EXPECT_TRUE(node.entries[0].connected.ok());
  EXPECT_EQ(node.entries[0].info.status().code(), Code::kDeadlineExceeded);
}

TEST(NodeProbe, AnEndpointThatNobodyServesOrThatLiesElsewhereIsAFault) {
  Node node;
  node.network.Listen("unix:/k/plugins_registry/gpu.sock", node.registration);
  node.Ask();
  EXPECT_EQ(node.entries[0].endpoint_listens.status().code(), Code::kUnavailable);
  node.done = false;
  node.endpoint = "/k/../tmp/dra.sock";
  node.Ask();
  EXPECT_THAT(node.entries[0].endpoint_listens.status().message(), HasSubstr("not below /k"));
}

TEST(NodeProbe, WhatIsNoSocketOrHiddenIsNotAsked) {
  Node node;
  node.entries = {{.path = "/k/a", .kind = RegistryEntry::Kind::kFile},
                  {.path = "/k/.b", .hidden = true}};
  node.Ask();
  for (const RegistryEntry& entry : node.entries) {
    EXPECT_TRUE(entry.connected.ok());
    EXPECT_EQ(entry.info.status().message(), "not looked at");
  }
}

TEST(NodeProbe, TheAgentReportsItsStatusAndItsDrivers) {
  Node node;
  node.agent_service.AddUnary("/galen.inspect.v1.Inspect/GetStatus",
                              [](std::string_view, const rpc::Caller&, rpc::Reply reply) {
                                wire::GetStatusResponse status;
                                status.set_version("0.1.0");
                                status.set_node("node-7");
                                status.set_role("observer");
                                status.add_troubles("watch pods: forbidden");
                                status.add_holding_differences("default/a: differs");
                                reply(status.SerializeAsString());
                              });
  node.agent_service.AddUnary("/galen.inspect.v1.Inspect/ListDrivers",
                              [](std::string_view, const rpc::Caller&, rpc::Reply reply) {
                                wire::ListDriversResponse list;
                                list.add_drivers()->set_name("gpu.example.com");
                                list.mutable_drivers(0)->set_connected(true);
                                list.add_health_sources()->set_name("nvidia.com/gpu");
                                reply(list.SerializeAsString());
                              });
  node.network.Listen("unix:/run/agent.sock", node.agent_service);
  node.Ask();
  ASSERT_TRUE(node.agent.status.ok()) << node.agent.status.status().message();
  EXPECT_THAT(node.agent.health_sources, ElementsAre("nvidia.com/gpu"));
  EXPECT_EQ(node.agent.status->node, "node-7");
  EXPECT_THAT(node.agent.status->troubles, ElementsAre("watch pods: forbidden"));
  EXPECT_THAT(node.agent.status->holding_differences, ElementsAre("default/a: differs"));
  ASSERT_TRUE(node.agent.drivers.ok());
  EXPECT_TRUE((*node.agent.drivers)[0].connected);
}

TEST(NodeProbe, AnAgentThatIsNotThereLeavesItsReason) {
  Node node;
  node.Ask();
  EXPECT_EQ(node.agent.socket, "/run/agent.sock");
  EXPECT_FALSE(node.agent.status.ok());
  EXPECT_NE(node.agent.status.status().message(), "");
  EXPECT_THAT(node.agent.status.status().message(), Not(HasSubstr("/run/agent.sock")))
      << "a report names the path once";
}

TEST(NodeProbe, TheRegistryIsWalkedAsAKubeletWalksIt) {
  const TemporaryDirectory directory;
  namespace fs = std::filesystem;
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = directory.Path("sub/a.sock");
  fs::create_directories(directory.Path("sub"));
  fs::create_directories(directory.Path(".hidden"));
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  std::ofstream(directory.Path("b.txt")) << "x";
  std::ofstream(directory.Path(".hidden/c.txt")) << "x";
  fs::create_symlink(path, directory.Path("link.sock"));
  const StatusOr<std::vector<RegistryEntry>> entries = ListRegistry(directory.path());
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  std::map<std::string, RegistryEntry::Kind> kinds;
  for (const RegistryEntry& entry : *entries) {
    kinds[fs::path(entry.path).lexically_relative(directory.path())] = entry.kind;
  }
  EXPECT_EQ(kinds, (std::map<std::string, RegistryEntry::Kind>{
                       {"b.txt", RegistryEntry::Kind::kFile},
                       {"link.sock", RegistryEntry::Kind::kSymlink},
                       {"sub/a.sock", RegistryEntry::Kind::kSocket}}));
  EXPECT_EQ(ListRegistry(directory.Path("none")).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::doctor
