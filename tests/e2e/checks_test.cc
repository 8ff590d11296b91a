// Devices checked by commands and exporters: a real driver runs scripts as the users of
// node-problem-detector have them and asks an exporter, and a Pod says what they found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "probes/exporter/test_exporter.h"
#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A plugin by node-problem-detector's conventions: 0 is OK, 1 NonOK, 2 Unknown, and one line says
// more. It knows nothing of Galen.
constexpr const char* kFanPlugin = R"sh(#!/bin/bash
readonly OK=0
readonly NONOK=1
readonly UNKNOWN=2

speed="$(cat "$1" 2>/dev/null)"
if [[ -z "${speed}" ]]; then
  echo "fan speed cannot be read"
  exit "${UNKNOWN}"
fi
if [[ "${speed}" -lt 500 ]]; then
  echo "fan turns at ${speed} rpm"
  exit "${NONOK}"
fi
echo "fan is fine"
exit "${OK}"
)sh";

class ChecksStory : public ::testing::Test {
 protected:
  // A file below the node's directory, whole at each moment.
  void Write(const std::string& path, const std::string& text) {
    const fs::path file = node_.Path(path);
    fs::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text;
    fs::rename(file.string() + ".new", file);
  }
  std::string WriteScript(const std::string& name, const std::string& text) {
    Write(name, text);
    fs::permissions(node_.Path(name), fs::perms::owner_all);
    return node_.Path(name);
  }
  // The API, an agent, and a driver of card0 with these rules, whose Pod holds the card.
  void Start(const std::string& rules) {
    ASSERT_TRUE(node_.fleet().serves());
    node_.fleet().InstallDefinitions();
    Write("sys/class/acme/card0/uevent", "");
    driver_ = &node_.stage().Start("galen-driver", {"sysfs",
                                                    "--pattern",
                                                    "class/acme/card*",
                                                    "--rules",
                                                    node_.stage().Write("acme.yaml", rules),
                                                    "--run-commands",
                                                    "--name",
                                                    kDriver,
                                                    "--node",
                                                    "node-7",
                                                    "--kubeconfig",
                                                    node_.fleet().cluster().kubeconfig(),
                                                    "--kubelet-root",
                                                    node_.Path("kubelet"),
                                                    "--cdi-root",
                                                    node_.Path("cdi"),
                                                    "--sysfs-root",
                                                    node_.Path("sys"),
                                                    "--poll",
                                                    "200ms"});
    node_.StartAgent();
    node_.MakePod(kTrainer, kDriver);
  }
  // Ends the driver as the kubelet does; it must not wait for a command.
  void ExpectCleanEnd() {
    driver_->Signal(SIGTERM);
    ASSERT_TRUE(node_.stage().Until([&] { return !driver_->running(); }));
    EXPECT_EQ(driver_->exit_code(), 0);
  }

  FaultStage node_;
  Program* driver_ = nullptr;
};

TEST_F(ChecksStory, APodSaysWhatAPluginOfNodeProblemDetectorFoundAndThatItIsOver) {
  const std::string plugin = WriteScript("check_fan.sh", kFanPlugin);
  Write("speed-card0", "1200\n");
  Start("signs:\n- {name: fan, kind: reading, every: 1s, command: [" + plugin + ", '" +
        node_.Path("speed-") + "{device}']}\n" +
        "rules:\n- {id: fan, sign: fan, when: == 1, state: Unhealthy, code: FanFault,\n"
        "   owner: Hardware, sentence: 'Fan check: {detail}'}\n");
  node_.ExpectSays(kTrainer, {"card0 Healthy"});
  Write("speed-card0", "120\n");
  node_.ExpectSays(kTrainer, {"card0 Unhealthy", "Fan check: fan turns at 120 rpm"});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "False FanFault");
  node_.ExpectWhy(kTrainer, {"Healthy → Unhealthy, FanFault", "check_fan.sh"});
  node_.Expect({"get", "checks", "-o", "wide"},
               {"fan    card0   problem", "fan turns at 120 rpm", kDriver});
  fs::remove(node_.Path("speed-card0"));
  node_.ExpectSays(kTrainer, {"card0 Unknown", "ended with exit code 2: fan speed cannot be read"});
  Write("speed-card0", "1200\n");
  node_.ExpectSays(kTrainer, {"card0 Healthy"});
  ExpectCleanEnd();
}

TEST_F(ChecksStory, ACommandThatHangsIsUnknownAndHoldsUpNoOtherCheck) {
  const std::string hangs = WriteScript("hangs.sh", "#!/bin/sh\nsleep 600 & sleep 600\n");
  const std::string plugin = WriteScript("check_fan.sh", kFanPlugin);
  Write("speed", "1200\n");
  Start("signs:\n- {name: hangs, kind: reading, every: 1s, timeout: 1s, command: [" + hangs +
        "]}\n- {name: fan, kind: reading, every: 1s, command: [" + plugin + ", " +
        node_.Path("speed") + "]}\n" +
        "rules:\n- {id: fan, sign: fan, when: == 1, state: Unhealthy, code: FanFault,\n"
        "   owner: Hardware, sentence: 'Fan check: {detail}'}\n");
  node_.ExpectSays(kTrainer, {"card0 Unknown", "hangs.sh had not ended after 1 s and was killed"});
  Write("speed", "0\n");
  node_.ExpectSays(kTrainer, {"card0 Unhealthy", "Fan check: fan turns at 0 rpm"});
  EXPECT_THAT(driver_->Log(), HasSubstr("a check gave no answer"));
  ExpectCleanEnd();
}

// More than the limit, in a child that leaves the session; `tail` keeps a line that does not end.
TEST_F(ChecksStory, ACommandThatTakesMoreMemoryThanItsLimitIsUnknownAndTheOtherGoesOn) {
  const std::string own = "/sys/fs/cgroup/memory";
  if (access((fs::exists(own) ? own : "/sys/fs/cgroup/cgroup.procs").c_str(), W_OK) != 0) {
    GTEST_SKIP() << "a limit of a command's memory (control groups are not ours to make)";
  }
  const std::string greedy = WriteScript(
      "greedy.sh", "#!/bin/sh\nsetsid sh -c 'head -c 320M /dev/zero | tail' >/dev/null\nexit 1\n");
  const std::string plugin = WriteScript("check_fan.sh", kFanPlugin);
  Write("speed", "1200\n");
  Start("signs:\n- {name: greedy, kind: reading, every: 1m, timeout: 1m, cpu: 1m, command: [" +
        greedy + "]}\n- {name: fan, kind: reading, every: 1s, command: [" + plugin + ", " +
        node_.Path("speed") + "]}\n" +
        "rules:\n- {id: greedy, sign: greedy, when: == 1, state: Unhealthy, code: GreedyFault,\n"
        "   owner: Hardware, sentence: 'It is broken'}\n"
        "- {id: fan, sign: fan, when: == 1, state: Unhealthy, code: FanFault,\n"
        "   owner: Hardware, sentence: 'Fan check: {detail}'}\n");
  node_.ExpectSays(kTrainer,
                   {"card0 Unknown", "greedy.sh was ended by its memory limit of 256 MiB"});
  Write("speed", "0\n");
  node_.ExpectSays(kTrainer, {"card0 Unhealthy", "Fan check: fan turns at 0 rpm"});
  ExpectCleanEnd();
}

TEST_F(ChecksStory, APodSaysWhatAnExporterShowsAndAnExporterThatIsAwayIsNoFault) {
  auto exporter = std::make_unique<probes::TestExporter>();
  exporter->Show("remap_failure{card=\"card0\"} 0\n");
  const std::string url = exporter->url();
  Start("exporters:\n- {name: acme, url: '" + url +
        "', labels: {card: '{device}'}, every: 1s, timeout: 1s, patience: 3s}\n" +
        "signs:\n- {name: remap, kind: reading, exporter: acme, metric: remap_failure}\n"
        "rules:\n- {id: remap, sign: remap, when: == 1, state: Unhealthy, code: RemapFailed,\n"
        "   owner: Hardware, sentence: Row remapping failed}\n");
  node_.ExpectSays(kTrainer, {"card0 Healthy"});
  exporter->Show("remap_failure{card=\"card0\"} 1\n");
  node_.ExpectSays(kTrainer, {"card0 Unhealthy", "Row remapping failed"});
  node_.ExpectWhy(kTrainer, {"Healthy → Unhealthy, RemapFailed", "exporter acme: remap_failure 1"});
  exporter->Show("remap_failure{card=\"card0\"} 0\n");
  node_.ExpectSays(kTrainer, {"card0 Healthy"});
  exporter->Send("HTTP/1.0 200 OK\r\n\r\n" + std::string(1 << 20, 'x'), 100);
  node_.ExpectSays(
      kTrainer, {"card0 Unknown", "exporter acme at " + url + ": the page has more than 4194304"});
  exporter->Hang();
  node_.ExpectSays(kTrainer, {"card0 Unknown"});
  exporter->Show("remap_failure{card=\"card0\"} 0\n");
  node_.ExpectSays(kTrainer, {"card0 Healthy"});
  exporter.reset();
  node_.ExpectSays(kTrainer, {"card0 Unknown", "exporter acme at " + url + ": connect"});
  ExpectCleanEnd();
}

}  // namespace
}  // namespace galen::e2e
