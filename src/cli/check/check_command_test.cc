// What `galen check` says; as a program it is tested by tests/e2e/device_check_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/data/json.h"
#include "base/files/test_temporary_directory.h"
#include "base/flags.h"
#include "cli/check/check.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

CheckReport ReportOf(CheckVerdict verdict, std::vector<std::string> devices = {"gpu-0"}) {
  CheckReport report{.outcome = {.verdict = verdict,
                                 .code = "MemoryMismatch",
                                 .message = "Memory is wrong",
                                 .rounds = 3,
                                 .bytes = 68'200'000'000}};
  for (std::string& name : devices) report.devices.push_back({.device = std::move(name)});
  return report;
}

TEST(CheckCommand, TakesAShareOfTheMemoryThatLeavesSome) {
  EXPECT_EQ(*ParseMemoryShare("80%"), 0.8);
  EXPECT_EQ(*ParseMemoryShare("0.5%"), 0.005);
  for (const char* wrong : {"", "%", "80", "0%", "-1%", "96%", "nan%", "80%%", "1e9%", "8 %"}) {
    EXPECT_EQ(ParseMemoryShare(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
}

TEST(CheckCommand, LeavesResultsWhereTheDriverLooks) {
  EXPECT_EQ(*ResultsDirectory({}), "");
  EXPECT_EQ(*ResultsDirectory({.results = "/r"}), "/r");
  EXPECT_FALSE(ResultsDirectory({.driver = "../etc"}).ok());
  const TemporaryDirectory kubelet;
  const std::string plugin = kubelet.Path("plugins/nvidia.example.com");
  std::filesystem::create_directories(plugin);
  EXPECT_EQ(*ResultsDirectory({.driver = "nvidia.example.com", .kubelet_root = kubelet.Path("")}),
            kubelet.Path("") + "/plugins/nvidia.example.com/checks");
}

TEST(CheckCommand, RefusesADriverThatHasNeverRunHere) {
  const TemporaryDirectory kubelet;
  std::filesystem::create_directories(kubelet.Path("plugins/nvidia.example.com"));
  const auto typo =
      ResultsDirectory({.driver = "nvidia.exmaple.com", .kubelet_root = kubelet.Path("")});
  EXPECT_EQ(typo.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(typo.status().message(), HasSubstr("plugins/nvidia.exmaple.com is missing"));
  EXPECT_FALSE(ResultsDirectory({.driver = "nvidia.example.com", .kubelet_root = "/nowhere"}).ok());
}

TEST(CheckCommand, RefusesAPlaceWhereNobodyWouldLookForTheResult) {
  const auto told = [](CheckArguments arguments) {
    const CheckEnd end = Check({}, arguments);
    return fmt::format("{} {}", end.code, end.problem);
  };
  EXPECT_THAT(told({.devices = {"cpu"}, .driver = "gpu.example.com"}),
              HasSubstr("64 --driver gpu.example.com: no driver looks for a result of cpu"));
  EXPECT_THAT(told({.devices = {"gpu-0"}, .driver = "gpu.example.com", .results = "/r"}),
              HasSubstr("64 --driver and --results both say where"));
  EXPECT_THAT(told({.devices = {"gpu-0"}, .driver = "nvidia.com/gpu"}),
              HasSubstr("64 --driver nvidia.com/gpu is no name of a driver, such as "
                        "gpu.nvidia.com; it is a device plugin's resource"));
}

TEST(CheckCommand, KnowsANameInAnyFormAndRefusesWhatIsNone) {
  EXPECT_EQ(*CanonicalDevice("0000:4B:00.0"), "0000:4b:00.0");
  for (const char* name : {"cpu", "gpu-0", "gpu-12", "GPU-7d4b", "0000:4b:00.0"}) {
    EXPECT_EQ(*CanonicalDevice(name), name);
  }
  for (const char* name : {"", "gpu", "gpu-", "gpu-x", "GPU-", "nic-0", "4b:00.0", "0000:4b:00"}) {
    EXPECT_EQ(CanonicalDevice(name).status().code(), Code::kInvalidArgument) << name;
  }
  const CheckEnd end = Check({}, {.devices = {"gqu-0"}});
  EXPECT_EQ(end.code, kExitUsage);
  EXPECT_THAT(end.problem, HasSubstr("'gqu-0' is no device: cpu, gpu-0"));
}

TEST(CheckCommand, ADeviceWithoutADriversNameKeepsNoOthersResultFromBeingLeft) {
  const TemporaryDirectory directory;
  CheckReport report = ReportOf(CheckVerdict::kFailed, {"GPU-a", "gpu-1", "gpu-2"});
  report.devices[0].verdict = report.devices[1].verdict = CheckVerdict::kFailed;
  report.devices[2].verdict = CheckVerdict::kUnknown;
  const Status left = LeaveResults(report, directory.Path("checks"));
  EXPECT_EQ(left.code(), Code::kFailedPrecondition);
  EXPECT_THAT(left.message(), HasSubstr("GPU-a is no name that a driver gives"));
  EXPECT_TRUE(std::filesystem::exists(directory.Path("checks/gpu-1.json")));
  EXPECT_FALSE(std::filesystem::exists(directory.Path("checks/gpu-2.json")));
}

TEST(CheckCommand, RefusesAWrongCommandLine) {
  const auto code = [](CheckArguments arguments) { return Check({}, arguments).code; };
  EXPECT_EQ(code({}), kExitUsage);
  EXPECT_EQ(code({.devices = {"cpu"}, .seconds = 0}), kExitUsage);
  EXPECT_EQ(code({.devices = {"cpu"}, .memory = "all"}), kExitUsage);
  EXPECT_EQ(code({.devices = {"cpu"}, .call_timeout = 1ms}), kExitUsage);
  EXPECT_EQ(code({.devices = {"cpu"}, .seed = "0xg"}), kExitUsage);
  EXPECT_EQ(code({.devices = {"cpu"}, .output = "junit"}), kExitUsage);
  EXPECT_EQ(code({.devices = std::vector<std::string>(17, "cpu")}), kExitUsage);
}

TEST(CheckCommand, RefusesADeviceThatNobodySaysIsFree) {
  const TemporaryDirectory directory;
  Options options;
  options.agent_socket = directory.Path("agent.sock");
  const CheckEnd end = Check(options, {.devices = {"gpu-0"}});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.problem, HasSubstr("it is not known whether a Pod holds gpu-0"));
  EXPECT_THAT(end.problem, HasSubstr("--in-use-too"));
}

TEST(CheckCommand, KnowsAGpuByTheDriversNameWhateverItIsCalled) {
  const TemporaryDirectory proc;
  const std::string directory = proc.Path("driver/nvidia/gpus/0000:4b:00.0");
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/information") << "GPU UUID: GPU-1\nDevice Minor: 3\n";
  const auto names = [&](const std::string& called) {
    const GpuNames known = NamesOfGpu(called, "/nowhere", proc.path());
    EXPECT_EQ(known.known, !called.ends_with("7") && !called.ends_with("2"));
    return known.of_driver.value_or("nobody") + " " + known.uuid;
  };
  EXPECT_EQ(names("gpu-7"), "gpu-7 ");
  EXPECT_EQ(names("gpu-3"), "gpu-3 GPU-1");
  EXPECT_EQ(names("GPU-1"), "gpu-3 GPU-1");
  EXPECT_EQ(names("0000:4b:00.0"), "gpu-3 GPU-1");
  EXPECT_EQ(names("GPU-2"), "nobody GPU-2");
}

TEST(CheckCommand, AGpuThatADevicePluginGaveAwayIsInUseToo) {
  inspect::v1::ListDevicesResponse answer;
  const auto add = [&answer](const char* driver, const char* device) {
    inspect::v1::Device& added = *answer.add_devices();
    added.set_driver(driver);
    added.set_device(device);
  };
  add("nvidia.example.com", "gpu-0");
  add("other.example.com", "gpu-0");
  add("nvidia.com/gpu", "GPU-1");
  add("nvidia.com/gpu", "GPU-1::3");
  add("nvidia.com/gpu", "GPU-2");
  const auto found = [&](const GpuNames& names, const std::string& driver) {
    std::string all;
    for (const auto& device : DevicesNamed(answer, names, driver)) {
      all += device.driver() + " " + device.device() + "; ";
    }
    return all;
  };
  EXPECT_EQ(found({.of_driver = "gpu-0", .uuid = "GPU-1"}, "nvidia.example.com"),
            "nvidia.example.com gpu-0; nvidia.com/gpu GPU-1; nvidia.com/gpu GPU-1::3; ");
  EXPECT_EQ(found({.of_driver = "gpu-0"}, ""),
            "nvidia.example.com gpu-0; other.example.com gpu-0; ");
  EXPECT_EQ(found({}, ""), "");
}

TEST(CheckCommand, SaysInALineHowItWent) {
  EXPECT_EQ(
      CheckText(ReportOf(CheckVerdict::kPassed), 60, 0x1f),
      "gpu-0: passed: 3 rounds of 68.2 GB of memory, and matrices in 60 s, no bit wrong (seed "
      "0x1f)\n");
  EXPECT_EQ(CheckText(ReportOf(CheckVerdict::kFailed), 60, 0x1f),
            "gpu-0: failed: Memory is wrong (seed 0x1f)\n");
  EXPECT_EQ(CheckText(ReportOf(CheckVerdict::kUnknown, {"gpu-0", "gpu-1"}), 60, 0x1f),
            "gpu-0, gpu-1, links between them: unknown: Memory is wrong\n");
  CheckReport over = ReportOf(CheckVerdict::kUnknown);
  over.outcome.code = "TimeOver";
  EXPECT_EQ(CheckText(over, 5, 0x1f),
            "gpu-0: unknown: Memory is wrong; give it more than --seconds 5\n");
}

TEST(CheckCommand, SaysTheSameAsJson) {
  const auto json = Json::Parse(CheckJson(ReportOf(CheckVerdict::kFailed), 0x1f));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["verdict"].AsString(), "Failed");
  EXPECT_EQ((*json)["code"].AsString(), "MemoryMismatch");
  EXPECT_EQ((*json)["seed"].AsString(), "0x1f");
  EXPECT_EQ((*json)["devices"][0]["device"].AsString(), "gpu-0");
}

TEST(CheckCommand, ShowsHowFarItIs) {
  EXPECT_EQ(CheckProgress({"gpu-0"}, {.doing = "walking ones", .temperature = 61}, 23s, 60s),
            "gpu-0: 23 s of 60 s, walking ones, 61 °C");
  EXPECT_EQ(CheckProgress({"a", "b"}, {.call = "cuInit"}, 61s, 60s), "a, b: 60 s of 60 s, cuInit");
}

}  // namespace
}  // namespace galen::cli
