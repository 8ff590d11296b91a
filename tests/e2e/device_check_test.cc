// `galen check` as a program, on this machine's processor and on GPUs of the scripted CUDA driver,
// and the way of what it finds to the Pod.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNvidia = "nvidia.example.com";

TEST(ProcessorCheck, PassesOnThisMachineAndSaysSo) {
  Stage stage;
  const Outcome outcome =
      stage.Run({BuiltProgram("galen"), "check", "cpu", "--rounds", "1", "--memory", "0.02%"},
                {.deadline = 90s});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output << outcome.error;
  EXPECT_THAT(outcome.output,
              ContainsRegex("^cpu: passed: 1 round of .*, no bit wrong \\(seed 0x"));
}

TEST(ProcessorCheck, OfSeveralItChecksTheTransfersBetweenThem) {
  Stage stage;
  const Outcome outcome = stage.Run({BuiltProgram("galen"), "check", "cpu", "cpu", "cpu",
                                     "--rounds", "2", "--memory", "0.01%", "-o", "json"},
                                    {.deadline = 90s});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  const auto json = Json::Parse(outcome.output);
  ASSERT_TRUE(json.ok()) << outcome.output;
  EXPECT_EQ((*json)["verdict"].AsString(), "Passed");
  EXPECT_EQ((*json)["devices"][2]["device"].AsString(), "cpu-2");
}

TEST(ProcessorCheck, CannotTellWhenItsTimeIsTooShort) {
  Stage stage;
  const Outcome outcome =
      stage.Run({BuiltProgram("galen"), "check", "cpu", "--seconds", "1", "--memory", "2%"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("cpu: unknown: the time was over before one round"));
}

TEST(ProcessorCheck, AnInterruptEndsItAndItSaysSo) {
  Stage stage;
  Program& check = stage.Start("galen", {"check", "cpu", "--seconds", "600", "--memory", "1%"});
  EXPECT_TRUE(stage.Until([&] { return Count(check.Log(), "cpu: 1") > 0; }, 40s)) << check.Log();
  check.Signal(SIGINT);
  ASSERT_TRUE(stage.Until([&] { return !check.running(); }));
  // With a round behind it it had found nothing wrong, but nobody let it end.
  EXPECT_EQ(check.exit_code(), 130) << check.Log();
  EXPECT_THAT(check.Log(), HasSubstr("cpu: unknown: interrupted"));
}

TEST(GpuCheck, WithoutNvidiasDriverItSaysWhatIsMissing) {
  Stage stage;
  const Outcome outcome = stage.Run(
      {BuiltProgram("galen"), "check", "gpu-0", "--in-use-too", "--cuda", "/nowhere/libcuda.so.1"});
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_THAT(outcome.error, HasSubstr("is NVIDIA's driver installed, and --cuda right?"));
}

// Two GPUs of scripted libraries, a Pod that holds the first, and checks of them.
class GpuCheckOnANode : public ::testing::Test {
 protected:
  static std::string Library(const std::string& name) {
    const std::string bin = BuiltProgram("galen-driver");
    return bin.substr(0, bin.rfind("/bin/")) + name;
  }
  static std::string Uuid(int index) {
    return fmt::format("GPU-7d4b0f9e-0000-0000-0000-00000000000{}", index);
  }
  void SetUp() override {
    ASSERT_TRUE(node_.fleet().serves());
    node_.fleet().InstallDefinitions();
    std::string nvml = "driver 570.124.06\ngpus 3\n";
    for (int i = 0; i < 3; ++i) {
      nvml += fmt::format(
          "{0} uuid {1}\n{0} name NVIDIA H100\n{0} serial 16{0}\n{0} bus {2}\n{0} minor {0}\n"
          "{0} memory 85899345920\n{0} temperature {3}\n{0} width 16\n{0} width-most 16\n",
          i, Uuid(i), 75 + i, temperature_);
      const std::string directory = fmt::format("proc/driver/nvidia/gpus/0000:4{}:00.0", "bcd"[i]);
      std::filesystem::create_directories(node_.Path(directory));
      node_.stage().Write(
          directory + "/information",
          fmt::format("Model: NVIDIA H100\nGPU UUID: {}\nDevice Minor: {}\n", Uuid(i), i));
    }
    node_.stage().Write("nvml", nvml);
    Break("");
    node_.stage().Start("galen-driver",
                        {"nvidia", "--nvml", Library("/scripted_nvml/libnvidia-ml.so.1"), "--node",
                         "node-7", "--kubeconfig", node_.fleet().cluster().kubeconfig(),
                         "--kubelet-root", node_.Path("kubelet"), "--cdi-root", node_.Path("cdi"),
                         "--driver-root", node_.Path("driver"), "--poll", "200ms"},
                        {.environment = {"GALEN_NVML_ANSWERS=" + node_.Path("nvml")}});
    node_.StartAgent();
    node_.MakePod("first", kNvidia);
    node_.ExpectSays("first", {"gpu-0 Healthy"});
  }
  // What is broken about the GPUs, as scripted_cuda.cc has it.
  void Break(const std::string& lines) {
    std::string cuda = "gpus 3\n";
    for (int i = 0; i < 3; ++i) {
      cuda += fmt::format("{0} uuid 7d4b0f9e00000000000000000000000{0}\n{0} bus {1}\n", i, 75 + i);
    }
    node_.stage().Write("cuda", lines + cuda);
  }
  // By hand, of these devices; the flags go on.
  Outcome Check(std::vector<std::string> arguments) {
    std::vector<std::string> command = {BuiltProgram("galen"),
                                        "--agent-socket",
                                        node_.Path("agent.sock"),
                                        "check",
                                        "--cuda",
                                        Library("/scripted_cuda/libcuda.so.1"),
                                        "--nvml",
                                        Library("/scripted_nvml/libnvidia-ml.so.1"),
                                        "--proc-root",
                                        node_.Path("proc"),
                                        "--kubelet-root",
                                        node_.Path("kubelet"),
                                        "--driver",
                                        kNvidia,
                                        "--memory",
                                        "2%",
                                        "--rounds",
                                        "1",
                                        "--seconds",
                                        "100"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return node_.stage().Run(command, {.environment = {"GALEN_NVML_ANSWERS=" + node_.Path("nvml"),
                                                       "GALEN_CUDA_ANSWERS=" + node_.Path("cuda")},
                                       .deadline = 120s});
  }

  FaultStage node_;
  int temperature_ = 41;
};

TEST_F(GpuCheckOnANode, AFlippedBitIsFoundIsOnThePodAndInItsHistoryUntilACheckPasses) {
  // Behind the kernels' answer and six matrices.
  Break(fmt::format("0 stuck {} 17\n", 4096 + 6 * 256 * 1024 + 4096));
  const Outcome failed = Check({"gpu-0", "--in-use-too"});
  EXPECT_EQ(failed.exit_code, 1) << failed.output << failed.error;
  EXPECT_THAT(failed.output, HasSubstr("gpu-0: failed: Memory does not hold what was written"));
  EXPECT_THAT(failed.output, HasSubstr("with bit 17 wrong"));
  node_.ExpectSays("first", {"gpu-0 Unhealthy since ", "Active check: Memory does not hold",
                             "with bit 17 wrong"});
  EXPECT_EQ(node_.ConditionOf("first"), "False ActiveCheckFailed");
  node_.ExpectWhy("first", {"active check of device failed at ", "MemoryMismatch"});
  // A check without a result clears nothing.
  EXPECT_EQ(Check({"gpu-0", "--in-use-too", "--max-temperature", "30"}).exit_code, 2);
  EXPECT_THAT(node_.LineOf("first"), HasSubstr("gpu-0 Unhealthy"));
  Break("");
  const Outcome passed = Check({"gpu-0", "--in-use-too"});
  EXPECT_EQ(passed.exit_code, 0) << passed.output << passed.error;
  node_.ExpectSays("first", {"gpu-0 Healthy"});
  node_.ExpectWhy("first", {"active check of device passed at "});
  node_.Expect({"get", "devices"}, {"Active check of device passed at"});
}

TEST_F(GpuCheckOnANode, OneThatAPodHoldsIsRefusedAndAFreeOneIsNot) {
  const Outcome refused = Check({"gpu-0"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, HasSubstr("Pod default/first holds gpu-0"));
  EXPECT_THAT(refused.error, HasSubstr("--in-use-too"));
  // By whatever name.
  EXPECT_THAT(Check({Uuid(0)}).error, HasSubstr("Pod default/first holds " + Uuid(0)));
  const Outcome nobodys = Check({"gpu-9"});
  EXPECT_EQ(nobodys.exit_code, 64);
  EXPECT_THAT(nobodys.error,
              HasSubstr("neither the agent of this node nor NVIDIA's kernel module"));
  const Outcome free = Check({"gpu-1"});
  EXPECT_EQ(free.exit_code, 0) << free.output << free.error;
}

TEST_F(GpuCheckOnANode, ACallThatHangsIsToldByItsNameAndNothingWaitsForIt) {
  Break("hangs cuCtxSynchronize\n");
  const Outcome outcome = Check({"gpu-1", "--call-timeout", "2s"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("gpu-1: unknown: cuCtxSynchronize has not returned "
                                        "for 2s: the device, or its kernel module, hangs"));
}

TEST_F(GpuCheckOnANode, OneThatIsTooHotIsNotBad) {
  const Outcome outcome = Check({"gpu-1", "--max-temperature", "40"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("gpu-1: unknown: too hot: 41 °C exceeds 40 °C"));
}

TEST_F(GpuCheckOnANode, TheGpuWhoseLinksFlipBitsIsNamedAndUnhealthy) {
  Break("0 link-flips 1\n");
  const Outcome outcome = Check({"gpu-0", "gpu-1", "gpu-2", "--in-use-too"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("Data of gpu-0 arrives wrong: 2 of 3 pairs"));
  node_.ExpectSays("first", {"gpu-0 Unhealthy since ", "Data of gpu-0 arrives wrong"});
  Break("");
  EXPECT_EQ(Check({"gpu-0", "gpu-1", "gpu-2", "--in-use-too"}).exit_code, 0);
  node_.ExpectSays("first", {"gpu-0 Healthy"});
}

}  // namespace
}  // namespace galen::e2e
