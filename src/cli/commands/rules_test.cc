#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files/test_temporary_directory.h"
#include "cli/commands/commands.h"
#include "probes/rule_file/rule_reader.h"

namespace galen::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class RulesCommandTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(directory_.Path("r.yaml")) << text;
    return directory_.Path("r.yaml");
  }
  TemporaryDirectory directory_;
};

TEST_F(RulesCommandTest, ChecksAFileAndABuiltInTable) {
  EXPECT_EQ(*CheckRules("memory"), "memory: 3 signs and 3 rules, no faults\n");
  EXPECT_THAT(*CheckRules(Write("extends: memory\n")), HasSubstr("3 signs and 3 rules"));
}

TEST_F(RulesCommandTest, NamesEveryFaultOfAFile) {
  const Status status =
      CheckRules(Write("extends: memory\nsigns:\n- {name: A, kind: reading}\nrules:\n"
                       "- {id: x, sign: y}\n"))
          .status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("r.yaml:3:4: A: name is not lower-case"));
  EXPECT_THAT(status.message(), HasSubstr("r.yaml:5:11: x: sign 'y' is not among"));
}

TEST_F(RulesCommandTest, NamesThePlaceOfEachFaultToPrograms) {
  const std::string file = Write("signs:\n- {name: A, kind: reading}\nrules: []\n");
  const Json check = CheckRulesAsJson(file).value();
  EXPECT_EQ(check["file"].AsString(), file);
  EXPECT_FALSE(check.Has("rules"));
  const Json& first = check["faults"][std::size_t{0}];
  EXPECT_EQ(first["file"].AsString(), file);
  EXPECT_EQ(first["line"].AsInt(), 2);
  EXPECT_EQ(first["column"].AsInt(), 4);
  EXPECT_THAT(first["message"].AsString(), StartsWith("A: name is not lower-case"));
  EXPECT_EQ(check["faults"].items().size(), 1u);
}

TEST_F(RulesCommandTest, OfATableWithoutFaultsProgramsGetTheCountsAndAnEmptyList) {
  EXPECT_EQ(CheckRulesAsJson("memory").value(),
            Json::MakeObject(
                {{"file", "memory"}, {"signs", 3}, {"rules", 3}, {"faults", Json::MakeArray({})}}));
}

TEST_F(RulesCommandTest, AFileThatIsNoYamlHasOneFaultForPrograms) {
  const Json check = CheckRulesAsJson(Write("signs: [\n")).value();
  ASSERT_EQ(check["faults"].items().size(), 1u);
  EXPECT_THAT(check["faults"][std::size_t{0}]["message"].AsString(), HasSubstr("YAML line"));
  EXPECT_EQ(CheckRulesAsJson("none.yaml").status().code(), Code::kNotFound);
}

TEST_F(RulesCommandTest, WritesTimesAsPeopleDo) {
  const std::string file = Write(
      "signs: [{name: e, kind: counter, file: e}]\nrules:\n"
      "- {id: e, sign: e, when: 'rises > 10 in 3600s', state: Unhealthy, code: E,\n"
      "   sentence: e, owner: Hardware}\n");
  EXPECT_THAT(*ListRules({}, file), HasSubstr("rises > 10 in 1h\n"));
  EXPECT_THAT(*ExplainRules(file, ""), HasSubstr("rises > 10 in 1h\n"));
}

TEST_F(RulesCommandTest, SaysWhichTablesThereAreWhenThereIsNoSuchFile) {
  const Status status = CheckRules("none.yaml").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("built-in tables are amd, amdgpu, dcgm, fpga, gpu"));
}

TEST_F(RulesCommandTest, ListsRulesByTheirIds) {
  EXPECT_THAT(*ListRules({}, "memory"),
              HasSubstr("memory-uncorrected      Unhealthy  MemoryUncorrected"));
}

TEST_F(RulesCommandTest, ExplainsOneRuleOrAll) {
  EXPECT_THAT(*ExplainRules("memory", ""), HasSubstr("device-gone: Unhealthy"));
  EXPECT_THAT(*ExplainRules("memory", "memory-uncorrected"),
              HasSubstr("  reads  ue_count\n  when   memory-uncorrected > 0\n"));
  EXPECT_THAT(ExplainRules("memory", "no").status().message(), HasSubstr("has no rule 'no'"));
}

TEST_F(RulesCommandTest, TriesRulesOnARecording) {
  const std::string replays = GALEN_SOURCE_DIR "/tests/replays/";
  EXPECT_THAT(*TestRules("memory", replays + "memory-errors"),
              HasSubstr("mc0 memory-uncorrected began, Unhealthy: "));
  EXPECT_THAT(TestRules("memory", "").status().message(), HasSubstr("--replay is missing"));
}

TEST_F(RulesCommandTest, ARecordingOfWhichNothingWasTriedIsAnError) {
  std::filesystem::create_directories(directory_.Path("rec/0s/card0"));
  std::ofstream(directory_.Path("rec/0s/card0/ue_counts")) << "1\n";
  const Status status =
      TestRules(
          Write("signs: [{name: ue, kind: counter, file: ue_count}]\nrules:\n"
                "- {id: ue, sign: ue, when: '> 0', state: Unhealthy, code: Ue, sentence: ue,\n"
                "   owner: Hardware}\n"),
          directory_.Path("rec"))
          .status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("nothing was tried: no rule of "));
}

TEST_F(RulesCommandTest, RecordsWhatDevicesShowToBeTriedLater) {
  const std::string drive = directory_.Path("sys/class/nvme/nvme0");
  std::filesystem::create_directories(drive + "/hwmon1");
  std::ofstream(drive + "/serial") << "SN-0815-4711\n";
  std::ofstream(drive + "/hwmon1/temp1_input") << "91000\n";
  std::ofstream(drive + "/hwmon1/temp1_crit") << "90000 of SN-0815-4711\n";
  RecordArguments arguments{.directory = directory_.Path("out"),
                            .patterns = {"class/nvme/nvme*"},
                            .sysfs_root = directory_.Path("sys"),
                            .length = Duration(1),
                            .hash_serials = true};
  const StatusOr<std::string> said = RecordRules("nvme", arguments);
  ASSERT_TRUE(said.ok()) << said.status().message();
  EXPECT_THAT(*said, HasSubstr("out: 1 step; galen rules test nvme --replay "));
  EXPECT_THAT(*TestRules("nvme", directory_.Path("out")),
              HasSubstr("nvme0 temperature-critical began, Unhealthy: Drive temperature 91"));
  // The first step's directory is named by when it was read.
  std::string limit;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.Path("out"))) {
    if (entry.path().filename() != "temp1_crit") continue;
    std::ifstream file(entry.path());
    std::getline(file, limit);
  }
  EXPECT_THAT(limit, HasSubstr("90000 of hashed-"));
  EXPECT_EQ(RecordRules("nvme", arguments).status().code(), Code::kAlreadyExists);
}

TEST_F(RulesCommandTest, NamesFilesThatNoDeviceHasBeforeItRecords) {
  std::filesystem::create_directories(directory_.Path("sys/class/acme/card0"));
  std::ofstream(directory_.Path("sys/class/acme/card0/temp")) << "40\n";
  const std::string table = Write(
      "signs: [{name: heat, kind: reading, file: tmep}]\n"
      "rules: [{id: hot, sign: heat, when: '> 90', state: Unhealthy, code: Hot,\n"
      "  sentence: hot, owner: Hardware}]\n");
  ::testing::internal::CaptureStderr();
  const StatusOr<std::string> said = RecordRules(table, {.directory = directory_.Path("out"),
                                                         .patterns = {"class/acme/card*"},
                                                         .sysfs_root = directory_.Path("sys"),
                                                         .length = Duration(1)});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("no device of --pattern shows the sign heat, which rule hot looks at: "
                        "looked for file tmep"));
  EXPECT_TRUE(said.ok()) << said.status().message();
}

TEST_F(RulesCommandTest, SaysWhatARecordingLacks) {
  RecordArguments arguments;
  EXPECT_THAT(RecordRules("nvme", arguments).status().message(), HasSubstr("--out is missing"));
  arguments.directory = directory_.Path("out");
  EXPECT_THAT(RecordRules("nvme", arguments).status().message(), HasSubstr("--pattern is missing"));
  arguments.patterns = {"class/nvme/nvme*"};
  arguments.sysfs_root = directory_.Path("none");
  const Status none = RecordRules("nvme", arguments).status();
  EXPECT_EQ(none.code(), Code::kNotFound);
  EXPECT_THAT(none.message(), HasSubstr("is a device of --pattern class/nvme/nvme*"));
  EXPECT_EQ(RecordRules("none.yaml", arguments).status().code(), Code::kNotFound);
}

TEST(RulesSchemaCommand, PrintsTheSchema) {
  EXPECT_THAT(SchemaOfRules(), HasSubstr("https://json-schema.org/draft/2020-12/schema"));
}

// Whoever adds a rule shows it there: galen rules list TABLE prints the block.
TEST(BuiltInRulesPage, ShowsEachTableAsItIs) {
  std::ifstream file(std::string(GALEN_SOURCE_DIR) + "/docs/formats/built-in-rules.md");
  std::stringstream page;
  page << file.rdbuf();
  std::stringstream names(probes::BuiltInRuleNames());
  std::size_t tables = 0;
  for (std::string name; std::getline(names >> std::ws, name, ','); ++tables) {
    const StatusOr<std::string> list = ListRules({}, name);
    ASSERT_TRUE(list.ok()) << list.status().message();
    EXPECT_THAT(page.str(), HasSubstr("\n$ galen rules list " + name + "\n" + *list + "```\n"));
  }
  EXPECT_GE(tables, 7u);
}

}  // namespace
}  // namespace galen::cli
