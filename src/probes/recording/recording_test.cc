#include "probes/recording/recording.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Recording, DevicesAreReadAsTheyWereWritten) {
  const std::vector<RecordedDevice> devices = {
      {"gpu-0", "bus/pci/devices/0000:4b:00.0", "10de:2330", {"0000:4b:00.0"}},
      {"nvme0", "class/nvme/nvme0", "", {"nvme:nvme0", "0000:01:00.0"}}};
  const auto read = ReadRecordedDevices(WriteRecordedDevices(devices), "recording.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, devices);
  EXPECT_THAT(ReadRecordedDevices("", "r.yaml").status().message(),
              HasSubstr("r.yaml: names no devices"));
  EXPECT_FALSE(ReadRecordedDevices("{", "r.yaml").ok());
}

TEST(Recording, SignsAreReadAsTheyWereWritten) {
  const std::vector<Sign> signs = {
      {.device = "gpu-0", .name = "temperature", .value = 41.5, .unit = "°C", .expected = 85.0},
      {.device = "gpu-0", .name = "reset", .value = "gpu", .raw = "nvml: reset"},
      {.device = "*", .name = "driver", .value = "570", .expected_text = "580"},
      {.device = "gpu-1", .name = "power", .error = "no answer for 5 s"},
      {.device = "gpu-1", .name = "fan", .detail = "slow", .absent = true},
      {.device = "gpu-1", .name = "nvlink-replays", .value = 6.0, .parts = "0 3"}};
  const auto read = ReadSigns(WriteSigns(signs), "signs.json", {});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, signs);
  EXPECT_FALSE(ReadSigns("{}", "signs.json", {}).ok());
}

TEST(Recording, ASignByHandIsReadWholeOrNotAtAll) {
  const RuleTable table =
      ParseRules(
          "signs: [{name: power, kind: reading, unit: W}, {name: xid, kind: event}]\nrules: []\n",
          "r.yaml")
          .value();
  const auto fault = [&](std::string_view text) {
    return std::string(ReadSigns(text, "s.json", table).status().message());
  };
  const auto row = [&](std::string_view more) {
    return fault(R"([{"device": "gpu-0", "name": "power", )" + std::string(more) + "}]");
  };
  EXPECT_EQ(fault("[{\"device\": \"gpu-0\",\n\"name\": \"fan, or [1]\", \"value\": 1},\n"
                  "{\"name\": \"power\"}]"),
            "s.json:3: sign 2: has no device");
  EXPECT_THAT(fault(R"([{"device": "gpu-0", "sign": "power", "value": 1}])"),
              HasSubstr("s.json:1: sign 1: has an unknown field sign; these are known: device"));
  EXPECT_EQ(fault(R"([{"device": "gpu-0", "name": "power"}])"),
            "s.json:1: sign 1: power of gpu-0 has no value that is a number or a text");
  EXPECT_EQ(fault(R"(["power"])"), "s.json:1: sign 1: is not an object");
  EXPECT_EQ(fault("["), "s.json: " + std::string(Json::Parse("[").status().message()));
  EXPECT_EQ(row(R"("value": true)"), "s.json:1: sign 1: value is not a number or a text");
  EXPECT_EQ(row(R"("value": 1, "expected": "2")"), "s.json:1: sign 1: expected is not a number");
  EXPECT_EQ(row(R"("value": 1, "absent": "no")"), "s.json:1: sign 1: absent is not true or false");
  EXPECT_EQ(row(R"("value": 1, "unit": 7)"), "s.json:1: sign 1: unit is not a text");
  EXPECT_EQ(row(R"("value": 1, "unit": "kW")"),
            "s.json:1: sign 1: power of gpu-0 is in kW, but the table has it in W");
  EXPECT_EQ(row(R"("value": 1, "unit": "W")"), "");
  EXPECT_THAT(row(R"("value": 1}, {"device": "gpu-0", "name": "power", "value": 2)"),
              HasSubstr("sign 2: power of gpu-0 stands here twice"));
  EXPECT_EQ(row(R"("value": 1}, {"device": "gpu-1", "name": "power", "value": 2)"), "");
  const std::string_view xid = R"({"device": "gpu-0", "name": "xid", "value": 63})";
  EXPECT_EQ(fault(fmt::format("[{0}, {0}]", xid)), "") << "an event may happen twice";
}

TEST(Recording, AValueOfAnotherTypeThanTheTablesIsRefused) {
  const RuleTable table = ParseRules(
                              "signs: [{name: power, kind: reading, most: 900}, {name: errors, "
                              "kind: counter},\n  {name: xid, kind: event, least: 1, most: 999},"
                              "\n  {name: reset, kind: event, among: [gpu, host]}]\nrules: []\n",
                              "r.yaml")
                              .value();
  const auto said = [&](const std::string& name, const std::string& value) {
    const std::string text =
        fmt::format(R"([{{"device": "gpu-0", "name": "{}", "value": {}}}])", name, value);
    return std::string(ReadSigns(text, "s.json", table).status().message());
  };
  EXPECT_EQ(said("power", R"("85")"),
            "s.json:1: sign 1: power of gpu-0 is the text '85', but the table has it as a number "
            "up to 900");
  EXPECT_THAT(said("errors", "-3"),
              HasSubstr("errors of gpu-0 is negative, and a counter only grows"));
  EXPECT_THAT(said("xid", R"("seven")"), HasSubstr("xid of gpu-0 is the text 'seven'"));
  EXPECT_THAT(said("reset", R"("gup")"),
              HasSubstr("reset of gpu-0 is the text 'gup', but the table has it as gpu or host"));
  EXPECT_EQ(said("reset", R"("gpu")"), "");
  EXPECT_EQ(said("power", "950"), "") << "hardware shows what it shows";
  EXPECT_EQ(said("errors", "0"), "");
  EXPECT_EQ(said("xid", R"("79")"), "");
}

TEST(Recording, ADeviceByHandIsReadWholeOrNotAtAll) {
  const auto fault = [](std::string_view text) {
    return std::string(ReadRecordedDevices(text, "r.yaml").status().message());
  };
  const auto devices = ReadRecordedDevices("devices:\n  a: {}\n  b: {path: x}\n", "r.yaml");
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_EQ(*devices, (std::vector<RecordedDevice>{{.name = "a"}, {.name = "b", .path = "x"}}));
  EXPECT_EQ(fault("devices:\n  a: {}\n  b: {path: 7}\n"), "r.yaml:3: device b: path is not a text");
  EXPECT_EQ(fault("devices:\n  a:\n    kernelNames: x\n"),
            "r.yaml:3: device a: kernelNames is not a list");
  EXPECT_THAT(fault("devices: {a: {kernelnames: []}}\n"),
              HasSubstr("r.yaml:1: device a: has an unknown field kernelnames; these are known"));
  EXPECT_EQ(fault("devices: {a: yes}\n"),
            "r.yaml:1: device a: is not a mapping of path, model and kernelNames");
  EXPECT_EQ(fault("devices: {}\nmodel: x\n"),
            "r.yaml:2: model is not a part of a recording; `devices` is");
  EXPECT_EQ(fault("devices:\n  a: {}\n  a: {}\n"), "r.yaml:3:3: key \"a\" comes twice");
  for (const char* name :
       {"0000:4B:00.0", "4b:00.0", "c4:00.0", "nvme0", "0000:4b:00.0 ", "pci:"}) {
    EXPECT_THAT(fault(fmt::format("devices: {{a: {{kernelNames: ['{}']}}}}\n", name)),
                HasSubstr("is not a name like \"0000:4b:00.0\" or \"nvme:nvme0\""))
        << name;
  }
  for (const char* name : {"0000:4b:00.0", "0000:4b:00", "nvme:nvme0"}) {
    EXPECT_EQ(fault(fmt::format("devices: {{a: {{kernelNames: ['{}']}}}}\n", name)), "") << name;
  }
}

TEST(Recording, ANumberAndAnExpectationOfZeroAreKept) {
  const std::vector<Sign> signs = {{.device = "a", .name = "x", .value = 0.0, .expected = 0.0},
                                   {.device = "a", .name = "y", .value = ""}};
  const auto read = ReadSigns(WriteSigns(signs), "signs.json", {});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, signs) << "no expectation would be another thing";
  EXPECT_EQ(*ReadSigns(WriteSigns({}), "signs.json", {}), std::vector<Sign>{});
}

TEST(Recording, NamesOfDevicesThatYamlWouldReadAsSomethingElseStayText) {
  const std::vector<RecordedDevice> devices = {{.name = "0000:4b:00.0", .model = "0x10de"},
                                               {.name = "7", .path = "true"},
                                               {.name = "no", .model = "1:2"}};
  const auto read = ReadRecordedDevices(WriteRecordedDevices(devices), "recording.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, devices);
}

TEST(Recording, AStepsNameIsReadAsTheTimeItIsNamedBy) {
  for (const Duration at : {Duration(0s), Duration(100ms), Duration(12500ms), Duration(90min),
                            Duration(24h), Duration(86399999ms)}) {
    EXPECT_EQ(*ParseDuration(StepName(at)), at) << StepName(at);
  }
}

TEST(Recording, AStepIsNamedByItsTime) {
  EXPECT_EQ(StepName(0s), "0s");
  EXPECT_EQ(StepName(12500ms), "12.5s");
  EXPECT_EQ(StepName(24h), "86400s");
}

}  // namespace
}  // namespace galen::probes
