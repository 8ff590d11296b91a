// `galen check` from its arguments to its exit code and what it leaves, on this machine's
// processor. What GPUs it finds is in tests/e2e/device_check_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/data/json.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/flags.h"
#include "base/loop/epoll_loop.h"
#include "cli/check/check.h"
#include "net/endpoint/server.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/service.h"
#include "rpc/typed.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CheckRunTest : public ::testing::Test {
 protected:
  // A round of some kilobytes: what is asked for is how it ends, not what it finds.
  CheckArguments Arguments(std::vector<std::string> devices) const {
    return {.devices = std::move(devices),
            .rounds = 1,
            .memory = "0.001%",
            .seed = "0x1f",
            .results = directory_.Path("results"),
            .cuda = "/nowhere/libcuda.so.1",
            .nvml = "/nowhere/libnvidia-ml.so.1",
            .sysfs_root = directory_.Path("sys"),
            .proc_root = directory_.Path("proc")};
  }
  void Heat(const std::string& thousandths) {
    const std::string zone = directory_.Path("sys/class/thermal/thermal_zone0");
    std::filesystem::create_directories(zone);
    std::ofstream(zone + "/temp") << thousandths << "\n";
  }
  std::vector<std::string> Left() const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(directory_.Path("results"))) return names;
    return *PosixFileSystem().List(directory_.Path("results"));
  }
  CheckResult Result(const std::string& name) const {
    const auto text = PosixFileSystem().Read(directory_.Path("results/" + name));
    EXPECT_TRUE(text.ok()) << text.status().message();
    const auto result = ParseCheckResult(text.ok() ? *text : "{}");
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : CheckResult{};
  }

  const TemporaryDirectory directory_;
};

TEST_F(CheckRunTest, PassesAndLeavesAResultThatADriverBelieves) {
  const CheckEnd end = Check({}, Arguments({"cpu"}));
  EXPECT_EQ(end.code, 0) << end.problem << end.text;
  EXPECT_THAT(end.text, StartsWith("cpu: passed: 1 round of "));
  EXPECT_THAT(end.text, HasSubstr("no bit wrong (seed 0x1f)"));
  EXPECT_FALSE(end.hangs);
  EXPECT_THAT(Left(), ElementsAre("cpu.json"));
  const CheckResult result = Result("cpu.json");
  EXPECT_EQ(result.device, "cpu");
  EXPECT_EQ(result.subject, CheckSubject::kDevice);
  EXPECT_EQ(result.verdict, CheckVerdict::kPassed);
  EXPECT_EQ(result.code, "");
  EXPECT_EQ(result.rounds, 1);
  EXPECT_EQ(result.seed, 0x1fu);
  EXPECT_GT(result.bytes, 0u);
  EXPECT_LE(result.began, result.ended);
  EXPECT_GT(result.began, WallTime{} + 24h * 365 * 50) << "a time of today";
  std::string boot = *PosixFileSystem().Read("/proc/sys/kernel/random/boot_id");
  EXPECT_EQ(result.boot_id + "\n", boot);
}

TEST_F(CheckRunTest, SaysTheSameForPrograms) {
  CheckArguments arguments = Arguments({"cpu"});
  arguments.output = "json";
  const CheckEnd end = Check({}, arguments);
  const auto json = Json::Parse(end.text);
  ASSERT_TRUE(json.ok()) << end.text;
  EXPECT_EQ((*json)["verdict"].AsString(), "Passed");
  EXPECT_EQ((*json)["rounds"].AsInt(), 1);
  EXPECT_EQ((*json)["devices"][0]["device"].AsString(), "cpu");
  EXPECT_EQ((*json)["devices"][0]["verdict"].AsString(), "Passed");
}

TEST_F(CheckRunTest, SeveralAreCheckedByWhatTheySendEachOther) {
  const CheckEnd end = Check({}, Arguments({"cpu", "cpu", "cpu"}));
  EXPECT_EQ(end.code, 0) << end.problem << end.text;
  EXPECT_THAT(end.text, StartsWith("cpu-0, cpu-1, cpu-2, links between them: passed: "));
  EXPECT_THAT(Left(), ElementsAre("cpu-0.links.json", "cpu-1.links.json", "cpu-2.links.json"));
  EXPECT_EQ(Result("cpu-1.links.json").verdict, CheckVerdict::kPassed);
  EXPECT_EQ(Result("cpu-1.links.json").subject, CheckSubject::kLinks);
}

TEST_F(CheckRunTest, WhatIsTooHotIsNotJudgedAndLeavesNoResult) {
  Heat("95000");
  const CheckEnd end = Check({}, Arguments({"cpu"}));
  EXPECT_EQ(end.code, 2);
  EXPECT_EQ(end.text, "cpu: unknown: too hot: 95 °C exceeds 80 °C\n");
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(CheckRunTest, ALimitAboveTheHeatLetsItPass) {
  Heat("95000");
  CheckArguments arguments = Arguments({"cpu"});
  arguments.max_temperature = 96;
  EXPECT_EQ(Check({}, arguments).code, 0);
}

TEST_F(CheckRunTest, AResultThatCannotBeLeftIsAProblem) {
  std::ofstream(directory_.Path("file")) << "x";
  CheckArguments arguments = Arguments({"cpu"});
  arguments.results = directory_.Path("file/results");
  const CheckEnd end = Check({}, arguments);
  EXPECT_EQ(end.code, 2) << "whoever asked for a result has none";
  EXPECT_THAT(end.text, StartsWith("cpu: passed")) << "and is told what it would have been";
  EXPECT_THAT(end.problem, StartsWith("leave the result in " + arguments.results + ": "));
}

TEST_F(CheckRunTest, WithoutAPlaceForResultsNoneIsLeft) {
  CheckArguments arguments = Arguments({"cpu"});
  arguments.results.clear();
  EXPECT_EQ(Check({}, arguments).code, 0);
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(CheckRunTest, AProcessorHasNoLinkToAGpu) {
  const CheckEnd end = Check({}, Arguments({"cpu", "gpu-0"}));
  EXPECT_EQ(end.code, kExitUsage);
  EXPECT_EQ(end.problem, "cpu and GPUs have no link between them");
  EXPECT_EQ(end.text, "");
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(CheckRunTest, WithoutNvidiasDriverItSaysWhatIsMissing) {
  CheckArguments arguments = Arguments({"gpu-0"});
  arguments.in_use_too = true;
  const CheckEnd end = Check({}, arguments);
  EXPECT_EQ(end.code, kExitUsage);
  EXPECT_THAT(end.problem, HasSubstr("/nowhere/libcuda.so.1"));
}

TEST_F(CheckRunTest, TheThermometerIsTakenBackAtTheEnd) {
  Heat("41500");
  Time now{};
  active::CheckWatch watch({.now = [&] { return now; }});
  std::vector<std::optional<double>> measured;
  CheckThermometer last;
  const CheckWork work{.devices = {"cpu"},
                       .options = {.seed = 1, .memory_bytes_max = 4096, .rounds_max = 1},
                       .sysfs_root = directory_.Path("sys")};
  const CheckReport report = RunCheckWork(work, watch, [&](CheckThermometer how) {
    last = std::move(how);
    if (last) measured.push_back(last());
  });
  EXPECT_EQ(report.outcome.verdict, CheckVerdict::kPassed) << report.outcome.message;
  EXPECT_THAT(measured, ElementsAre(std::optional(41.5)));
  EXPECT_FALSE(last) << "what it reads of is gone";
}

TEST_F(CheckRunTest, StoppedItSaysThatItWasInterrupted) {
  active::CheckWatch watch({.now = [] { return Time{}; }});
  watch.Stop();
  const CheckReport report =
      RunCheckWork({.devices = {"cpu"}}, watch, [](const CheckThermometer&) {});
  EXPECT_EQ(report.outcome.verdict, CheckVerdict::kUnknown);
  EXPECT_EQ(report.outcome.code, "Interrupted");
}

// An agent that knows gpu-0 of two drivers; the Pod ns/trainer-0 holds that of a.example.com.
class AgentOfGpus {
 public:
  explicit AgentOfGpus(const std::string& socket) {
    rpc::AddUnary<inspect::v1::ListDevicesRequest, inspect::v1::ListDevicesResponse>(
        agent_, "/galen.inspect.v1.Inspect/ListDevices",
        [](const auto&, const rpc::Caller&, const auto& reply) {
          inspect::v1::ListDevicesResponse answer;
          for (const char* driver : {"a.example.com", "b.example.com"}) {
            inspect::v1::Device& device = *answer.add_devices();
            device.set_driver(driver);
            device.set_device("gpu-0");
          }
          inspect::v1::Holder& holder = *answer.mutable_devices(0)->add_holders();
          holder.set_namespace_("ns");
          holder.set_pod("trainer-0");
          reply(answer);
        });
    server_ =
        std::move(*net::Server::Start(*loop_, NullLog(), {.address = "unix:" + socket}, agent_));
    thread_ = std::thread([this] { loop_->Run(); });
  }
  ~AgentOfGpus() {
    loop_->Post([this] { loop_->Stop(); });
    thread_.join();
  }

 private:
  std::unique_ptr<EpollLoop> loop_ = std::move(*EpollLoop::Create());
  rpc::Dispatcher agent_{*loop_};
  std::unique_ptr<net::Server> server_;
  std::thread thread_;
};

class CheckInUseTest : public CheckRunTest {
 protected:
  CheckEnd CheckOf(const std::string& device, const std::string& driver) {
    Options options;
    options.agent_socket = socket_;
    CheckArguments arguments = Arguments({device});
    arguments.driver = driver;
    if (!driver.empty()) {
      arguments.results.clear();
      arguments.kubelet_root = directory_.Path("kubelet");
      std::filesystem::create_directories(arguments.kubelet_root + "/plugins/" + driver);
    }
    return Check(options, arguments);
  }
  const std::string socket_ = directory_.Path("agent.sock");
  AgentOfGpus agent_{socket_};
};

TEST_F(CheckInUseTest, ADeviceThatAPodHoldsIsLeftAlone) {
  const CheckEnd end = CheckOf("gpu-0", "a.example.com");
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.problem, StartsWith("Pod ns/trainer-0 holds gpu-0, and a check takes its time"));
  EXPECT_THAT(end.problem, HasSubstr("--in-use-too"));
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(CheckInUseTest, WithoutADriversNameAnyDeviceOfThatNameMayBeMeant) {
  EXPECT_THAT(CheckOf("gpu-0", "").problem, StartsWith("Pod ns/trainer-0 holds gpu-0"));
}

TEST_F(CheckInUseTest, ThatOfAnotherDriverIsNotTheOneThatIsHeld) {
  const CheckEnd end = CheckOf("gpu-0", "b.example.com");
  EXPECT_THAT(end.problem, HasSubstr("/nowhere/libcuda.so.1")) << "it went on to the device";
}

TEST_F(CheckInUseTest, ADeviceThatNobodyKnowsIsAMistakeOfTheCommandLine) {
  for (const auto& [device, driver] : std::map<std::string, std::string>{
           {"gpu-1", "a.example.com"}, {"gpu-0", "c.example.com"}, {"GPU-7d4b", ""}}) {
    const CheckEnd end = CheckOf(device, driver);
    EXPECT_EQ(end.code, kExitUsage) << device;
    EXPECT_THAT(end.problem, StartsWith(device + (driver.empty() ? "" : " of " + driver)));
    EXPECT_THAT(end.problem, HasSubstr("neither the agent of this node nor NVIDIA's kernel"));
  }
}

}  // namespace
}  // namespace galen::cli
