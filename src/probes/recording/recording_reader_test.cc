#include "probes/recording/recording_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kReadRules = R"(
signs:
- {name: heat, kind: reading, file: "hwmon/hwmon*/temp1_input", expected: "hwmon/hwmon*/temp1_crit"}
- {name: power, kind: reading}
- {name: lanes, kind: reading, among: [0, 8, 16]}
- {name: dead, kind: event, driver: nvme, subsystem: nvme, line: Disabling device}
rules:
- {id: hot, sign: heat, when: "> 90", state: Unhealthy, code: Hot, owner: Hardware, sentence: hot}
)";

class RecordingReaderTest : public ::testing::Test {
 protected:
  void Put(const std::string& file, const std::string& text) { files_.files["/r/" + file] = text; }
  std::vector<std::string> Notes() {
    RecordingReader reader(files_, directory_, devices_, rules_);
    const StatusOr<std::vector<Sign>> signs = reader.SignsOf("0s");
    EXPECT_TRUE(signs.ok()) << signs.status().message();
    EXPECT_TRUE(reader.LooksOf("0s").ok());
    if (signs.ok()) signs_ = *signs;
    return reader.TakeNotes();
  }
  std::string Fault() {
    RecordingReader reader(files_, directory_, devices_, rules_);
    return std::string(reader.SignsOf("0s").status().message());
  }

  const RuleTable rules_ = ParseRules(kReadRules, "read.yaml").value();
  const std::string directory_ = "/r";
  std::vector<RecordedDevice> devices_ = {
      {.name = "card", .path = "class/card", .kernel_names = {"nvme:nvme0"}}};
  FakeSysfs files_;
  std::vector<Sign> signs_;
};

constexpr std::string_view kDead =
    "3,7,100,-;nvme nvme0: Disabling device after reset failure: -19\n";

TEST_F(RecordingReaderTest, WhatIsAllReadIsNotNoted) {
  Put("0s/card/hwmon/hwmon3/temp1_input", "91000\n");
  Put("0s/card/hwmon/hwmon3/temp1_crit", "95000\n");
  Put("0s/card/.present", "");
  Put("0s/signs.json", R"([{"device": "card", "name": "power", "value": 1}])");
  Put("0s/kernel.log", std::string(kDead) + " SUBSYSTEM=nvme\n DEVICE=+nvme:nvme0\n\n");
  EXPECT_THAT(Notes(), IsEmpty());
  ASSERT_EQ(signs_.size(), 2u);
  EXPECT_EQ(signs_[1].device, "card");
}

TEST_F(RecordingReaderTest, ANumberThatTheTableDoesNotListIsNamedAndPlayed) {
  Put("0s/signs.json", R"([{"device": "card", "name": "lanes", "value": 17}])");
  EXPECT_THAT(Notes(), ElementsAre("/r/0s/signs.json: lanes of card is 17, which is not a value "
                                   "that the table has: 0, 8 or 16; it is played all the same"));
  EXPECT_EQ(signs_.size(), 1u);
  Put("0s/signs.json", R"([{"device": "card", "name": "lanes", "value": 16}])");
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(RecordingReaderTest, AMisnamedFileIsNamed) {
  Put("0s/card/hwmon/hwmon3/temp1_imput", "91000\n");
  Put("0s/sings.json", "[]");
  EXPECT_THAT(
      Notes(),
      ElementsAre("/r/0s/card/hwmon/hwmon3/temp1_imput counts for nothing: no sign of the table "
                  "reads it",
                  HasSubstr("/r/0s/sings.json counts for nothing: a step has signs.json")));
  RecordingReader reader(files_, directory_, devices_, rules_);
  for (const char* name : {"signs.json", "kernel.log", "recording.yml", "recording.yaml", "said"}) {
    reader.NoteBesideSteps(name);
  }
  EXPECT_THAT(reader.TakeNotes(),
              ElementsAre(HasSubstr("/r/signs.json counts for nothing: it belongs into a step"),
                          HasSubstr("/r/kernel.log counts for nothing"),
                          HasSubstr("/r/recording.yml counts for nothing: the file is called")));
}

TEST_F(RecordingReaderTest, ADirectoryOfAnotherDeviceThanTheRecordingsIsNamed) {
  Put("0s/crad/hwmon/hwmon3/temp1_input", "91000\n");
  EXPECT_THAT(Notes(), ElementsAre("/r/0s/crad is not a device of recording.yaml, and is played as "
                                   "one more"));
  devices_ = {{.name = "crad"}};
  EXPECT_THAT(Notes(), ElementsAre("/r/0s/crad counts for nothing: recording.yaml gives crad no "
                                   "path"));
  devices_.clear();
  EXPECT_THAT(Notes(), IsEmpty()) << "there is no list that it could be on";
}

TEST_F(RecordingReaderTest, ARecordOfTheKernelsLogThatCountsForNothingIsNamedWithItsLine) {
  Put("0s/kernel.log", std::string(kDead) + "\n" +
                           "3,8,101,-;nvme nvme7: Disabling device after reset failure: -19\n"
                           " SUBSYSTEM=nvme\n DEVICE=+nvme:nvme7\n\n"
                           "6,9,102,-;nvme nvme0: 8/0/0 queues\n"
                           " SUBSYSTEM=nvme\n DEVICE=+nvme:nvme0\n\n"
                           "no record\n\n"
                           "2,10,103,-;NVRM: Xid (PCI:0000:4b:00): 79, pid=1, GPU has fallen\n\n");
  devices_.push_back({.name = "gpu", .kernel_names = {"0000:4b:00.0"}});
  EXPECT_THAT(
      Notes(),
      ElementsAre("/r/0s/kernel.log:1: record 1 is passed over: it has no SUBSYSTEM and DEVICE, "
                  "which say what device it is about",
                  "/r/0s/kernel.log:3: record 2 is passed over: it is about nvme:nvme7, which "
                  "recording.yaml has in no kernelNames",
                  "/r/0s/kernel.log:7: record 3 is passed over: it is not a sign of the table",
                  HasSubstr("/r/0s/kernel.log:11: record 4 is passed over: kernel record without"),
                  "/r/0s/kernel.log:13: record 5 is passed over: no rule knows the sign xid"));
}

TEST_F(RecordingReaderTest, LineEndsOfAnotherSystemAreRefusedOrNamed) {
  Put("0s/card/hwmon/hwmon3/temp1_input", "91000\nmore\r\n");
  EXPECT_THAT(Notes(), ElementsAre("/r/0s/card/hwmon/hwmon3/temp1_input:2: the line ends in CR "
                                   "LF; the kernel's end in LF alone"));
  Put("0s/kernel.log", "\n3,7,100,-;nvme nvme0: x\r\n\r\n");
  EXPECT_EQ(Fault(), "/r/0s/kernel.log:2: the line ends in CR LF; the kernel's end in LF alone");
}

TEST_F(RecordingReaderTest, AFileThatCannotBeReadIsNotTakenForOneThatIsNotThere) {
  files_.errors["/r/0s/signs.json"] = PermissionDenied("not yours");
  EXPECT_EQ(Fault(), "not yours");
  files_.errors = {{"/r/0s/kernel.log", ResourceExhausted("too long")}};
  EXPECT_EQ(Fault(), "too long");
}

}  // namespace
}  // namespace galen::probes
