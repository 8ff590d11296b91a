#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As the reference driver of Kubernetes' helper writes it.
constexpr char kGood[] =
    R"({"cdiVersion":"0.6.0","devices":[{"name":"9c-dev-0","containerEdits":{"env":["DEV_0=9c"]}}],)"
    R"("kind":"ref.example.com/test"})";

TEST(CdiProbe, AValidFileNamesItsDevices) {
  const CdiFile file = ReadCdiFile("/cdi/a.json", kGood);
  EXPECT_EQ(file.fault, "");
  EXPECT_THAT(file.ids, ElementsAre("ref.example.com/test=9c-dev-0"));
}

TEST(CdiProbe, YamlIsReadByTheFilesName) {
  const CdiFile file = ReadCdiFile("/cdi/a.yaml",
                                   "cdiVersion: 0.6.0\nkind: v.com/gpu\ndevices:\n- name: all\n"
                                   "  containerEdits: {deviceNodes: [{path: /dev/gpu}]}\n");
  EXPECT_EQ(file.fault, "");
  EXPECT_THAT(file.ids, ElementsAre("v.com/gpu=all"));
}

TEST(CdiProbe, EachRuleThatIsBrokenIsNamedAndNothingOfTheFileCounts) {
  const auto with = [](const std::string& kind, const std::string& devices) {
    return R"({"cdiVersion": "0.6.0", "kind": ")" + kind + R"(", "devices": )" + devices + "}";
  };
  const auto edits = [&](const std::string& text) {
    return with("v.com/gpu", R"([{"name": "a", "containerEdits": )" + text + "}]");
  };
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"{", "byte"},
      {"[]", "not an object"},
      {R"({"kind": "v.com/gpu"})", "cdiVersion"},
      {with("gpu", "[]"), "kind \"gpu\""},
      {with("v.com/", "[]"), "kind \"v.com/\""},
      {with("1v.com/gpu", "[]"), "kind"},
      {with("v.com/gpu", "[]"), "no devices"},
      {with("v.com/gpu", R"([{"name": "a b", "containerEdits": {"env": ["A=b"]}}])"),
       "device name \"a b\""},
      {with("v.com/gpu", R"([{"name": "a"}])"), "device a has no edits"},
      {with("v.com/gpu", R"([{"name": "a", "containerEdits": {"env": ["A=b"]}},
                             {"name": "a", "containerEdits": {"env": ["A=b"]}}])"),
       "device a is listed twice"},
      {edits(R"({"env": ["A"]})"), "is not NAME=value"},
      {edits(R"({"deviceNodes": [{}]})"), "device node"},
      {edits(R"({"mounts": [{"hostPath": "/a"}]})"), "mount"},
      {edits(R"({"hooks": [{"path": "/a"}]})"), "hook"},
      {edits(R"({"hooks": [{"hookName": "onStart", "path": "/a"}]})"), "hook \"onStart\""},
      {edits(R"({"deviceNodes": [{"path": "/dev/a", "type": "x"}]})"), "type \"x\""},
      {edits(R"({"deviceNodes": [{"path": "/dev/a", "permissions": "x"}]})"), "permissions"},
      {edits(R"({"env": []})"), "device a has no edits"},
      {edits(R"({"netDevices": [{"hostInterfaceName": "a", "name": "b"}]})"),
       "what it uses came with 1.1.0"},
  };
  for (const auto& [text, words] : broken) {
    const CdiFile file = ReadCdiFile("/cdi/a.json", text);
    EXPECT_THAT(file.fault, HasSubstr(words)) << text;
    EXPECT_THAT(file.ids, IsEmpty()) << text;
  }
}

TEST(CdiProbe, DirectoriesAreReadAndOtherFilesLeftAlone) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/cdi", 0755).ok());
  ASSERT_TRUE(files.WriteAtomically("/cdi/a.json", kGood, 0600).ok());
  ASSERT_TRUE(files.WriteAtomically("/cdi/readme.txt", "hello", 0600).ok());
  EXPECT_THAT(*ReadCdiFiles(files, {"/none", "/cdi"}), SizeIs(1));
  EXPECT_EQ(ReadCdiFiles(files, {"/none"}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::doctor
