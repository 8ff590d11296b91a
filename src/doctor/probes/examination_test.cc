// One examination of a node that is a directory, in one thread.
#include "doctor/probes/examination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/fake_loop.h"
#include "base/text.h"
#include "doctor/check.h"
#include "kube/fake_transport.h"
#include "net/fake_link.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/service.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct Place {
  ExaminationOptions Options() {
    return {.node = "",
            .host_name = "this-host",
            .kubelet_root = directory.Path("kubelet"),
            .state_dir = directory.Path("galen"),
            .agent_socket = directory.Path("agent.sock"),
            .cdi_directories = {directory.Path("cdi")},
            .no_cluster = FailedPrecondition("no cluster: --kubeconfig names one")};
  }

  void Make(const std::string& name) { std::filesystem::create_directories(directory.Path(name)); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory.Path(name)) << text;
  }

  Observations Look(const ExaminationOptions& options, net::HttpClient* api = nullptr) {
    std::optional<Observations> result;
    Examination examination({loop, *dialer, files, api}, options,
                            [&](const Observations& seen) { result = seen; });
    examination.Start();
    loop.Advance(60s);
    EXPECT_TRUE(result.has_value());
    return result.value_or(Observations());
  }

  const TemporaryDirectory directory;
  FakeLoop loop;
  Random random{3};
  PosixFileSystem files;
  net::LinkWeather weather;
  net::FakeNetwork network{loop, random};
  std::unique_ptr<net::Dialer> dialer = network.MakeDialer(weather);
};

TEST(Examination, LooksAtEverythingThatIsThere) {
  Place place;
  place.Make("kubelet/plugins_registry");
  place.Make("kubelet/pods");
  place.Make("cdi");
  place.Make("galen/journal");
  place.Write("kubelet/plugins_registry/stray.txt", "x");
  place.Write("kubelet/dra_manager_state", "{}");
  place.Make("kubelet/device-plugins");
  place.Write("kubelet/device-plugins/gpu.example.com.sock", "");
  place.Write("kubelet/device-plugins/kubelet_internal_checkpoint", "{}");
  place.Write("galen/journal/00000001.segment.corrupt-1", "x");
  const Observations seen = place.Look(place.Options());
  EXPECT_EQ(seen.node, "this-host");
  ASSERT_TRUE(seen.registry.ok());
  EXPECT_EQ(seen.registry->size(), 1u);
  EXPECT_EQ(seen.kubelet.prepared.status().code(), Code::kDataLoss);
  EXPECT_EQ(seen.kubelet.device_plugins, std::set<std::string>{"gpu.example.com"});
  EXPECT_EQ(seen.agent.journal->quarantined.size(), 1u);
  EXPECT_TRUE(seen.cdi.files.ok());
  EXPECT_TRUE(seen.host.inotify.ok());
  EXPECT_EQ(seen.host.disks.size(), 3u);
  EXPECT_TRUE(seen.host.disks[0].looked.ok()) << seen.host.disks[0].looked.message();
  EXPECT_THAT(seen.api.pods.status().message(), HasSubstr("--kubeconfig"));
  EXPECT_TRUE(IsNode(seen));
}

TEST(Examination, WhereThereIsNothingIsNoNode) {
  Place place;
  EXPECT_FALSE(IsNode(place.Look(place.Options())));
  place.Make("galen");
  EXPECT_TRUE(IsNode(place.Look(place.Options()))) << "an agent ran here";
}

TEST(Examination, APartOfTheKubeletsRootIsNotItsDisk) {
  Place place;
  place.Make("kubelet/plugins_registry");  // as a DaemonSet's Pod is given it
  const Observations seen = place.Look(place.Options());
  EXPECT_EQ(seen.host.disks[0].looked.code(), Code::kNotFound);
}

TEST(Examination, TheAgentsProcessIsKnownByItsLockAndItsName) {
  Place place;
  place.Make("galen");
  ExaminationOptions options = place.Options();
  options.kernel.proc = place.directory.Path("proc");
  place.Make("proc/77");
  place.Write("galen/lock", "77\n");
  place.Write("proc/77/limits", "Max open files            512                  512    files \n");
  place.Write("proc/77/cmdline", std::string("/usr/bin/galen-agent\0--role", 27));
  EXPECT_EQ(*place.Look(options).agent.open_files, 512);
  place.Write("proc/77/cmdline", std::string("/sbin/init\0", 11));
  EXPECT_EQ(place.Look(options).agent.open_files.status().code(), Code::kNotFound)
      << "the id is of another process namespace";
}

// An agent that knows one driver, whose registration socket lies at `socket`.
void Serve(rpc::Dispatcher& agent, const std::string& socket) {
  agent.AddUnary("/galen.inspect.v1.Inspect/GetStatus",
                 [](std::string_view, const rpc::Caller&, rpc::Reply reply) {
                   reply(inspect::v1::GetStatusResponse().SerializeAsString());
                 });
  agent.AddUnary("/galen.inspect.v1.Inspect/ListDrivers",
                 [socket](std::string_view, const rpc::Caller&, rpc::Reply reply) {
                   inspect::v1::ListDriversResponse list;
                   list.add_drivers()->set_registration_socket(socket);
                   reply(list.SerializeAsString());
                 });
}

TEST(Examination, WithoutAFlagTheRootIsThatOfTheDriversThatTheAgentLists) {
  Place place;
  place.Make("kubelet/plugins_registry");
  place.Make("fallback/plugins_registry");
  ExaminationOptions options = place.Options();
  options.kubelet_root = "";
  options.fallback_root = place.directory.Path("fallback");
  EXPECT_EQ(place.Look(options).kubelet_root, place.directory.Path("fallback")) << "no agent";
  rpc::Dispatcher agent{place.loop};
  Serve(agent, place.directory.Path("kubelet/plugins_registry/gpu.sock"));
  place.network.Listen("unix:" + options.agent_socket, agent);
  const Observations seen = place.Look(options);
  EXPECT_EQ(seen.kubelet_root, place.directory.Path("kubelet"));
  EXPECT_TRUE(seen.registry.ok());
  std::filesystem::remove_all(place.directory.Path("kubelet"));
  EXPECT_EQ(place.Look(options).kubelet_root, place.directory.Path("fallback"))
      << "the agent has it mounted elsewhere";
  options.kubelet_root = place.directory.Path("other");
  EXPECT_EQ(place.Look(options).kubelet_root, options.kubelet_root) << "a flag wins";
}

TEST(Examination, WhereNothingIsAtTheUsualPlaceOneSentenceNamesTheFlags) {
  Place place;
  ExaminationOptions options = place.Options();
  options.kubelet_root = "";
  options.fallback_root = place.directory.Path("nothing");
  options.kernel.proc = place.directory.Path("proc");
  place.Make("proc");
  const Observations seen = place.Look(options);
  EXPECT_FALSE(IsNode(seen));
  const std::string& words = seen.registry.status().message();
  for (const char* flag : {"nothing", "--kubelet-root", "--state-dir", "--cdi-root"}) {
    EXPECT_THAT(words, HasSubstr(flag));
  }
  std::set<std::string> bad;
  std::size_t for_that_reason = 0;
  for (const CheckResult& result : Judge(seen)) {
    if (result.level == Level::kBad) bad.insert(result.id);
    for_that_reason += result.seen == Shown(words) ? 1 : 0;
  }
  EXPECT_THAT(bad, ::testing::ElementsAre("agent.running")) << "what is not known is not bad";
  EXPECT_GE(for_that_reason, 20u);
  options.kubelet_root = options.fallback_root;
  EXPECT_THAT(place.Look(options).registry.status().message(),
              ::testing::Not(HasSubstr("--state-dir")))
      << "who named a root gets an answer about that root";
}

// A directory that is left over: the drivers may be below another root, and run.
TEST(Examination, AnIdlePlaceThatNobodyNamedSaysNothingOfTheDrivers) {
  Place place;
  place.Make("fallback/plugins_registry");
  place.Make("proc");
  ExaminationOptions options = place.Options();
  options.kubelet_root = "";
  options.fallback_root = place.directory.Path("fallback");
  options.kernel.proc = place.directory.Path("proc");
  EXPECT_THAT(place.Look(options).registry.status().message(), HasSubstr("--kubelet-root"));
  options.kubelet_root = options.fallback_root;
  EXPECT_TRUE(place.Look(options).registry.ok()) << "an empty registry, as was asked for";
}

TEST(Examination, WithAClusterItsNodeIsAskedFor) {
  Place place;
  kube::FakeTransport transport(place.loop);
  std::vector<std::string> paths;
  transport.AnswerBy([&](const net::HttpRequest& request) {
    paths.push_back(request.path);
    return std::optional<kube::FakeTransport::Answer>(
        request.path == "/version"
            ? kube::FakeTransport::Answer{.body = R"({"gitVersion": "v1.37.1"})"}
            : kube::FakeTransport::Answer{.status = 404});
  });
  ExaminationOptions options = place.Options();
  options.node = "node-7";
  const Observations seen = place.Look(options, &transport);
  EXPECT_THAT(paths, ::testing::Contains("/api/v1/nodes/node-7"));
  EXPECT_EQ(seen.api.node.status().code(), Code::kNotFound);
  EXPECT_TRUE(IsNode(seen)) << "its API server answers";
}

}  // namespace
}  // namespace galen::doctor
