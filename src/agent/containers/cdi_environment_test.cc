#include "agent/containers/cdi_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class CdiEnvironmentTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }
  StatusOr<std::map<std::string, std::string>> Of(const std::vector<std::string>& devices) {
    return CdiEnvironment(files_, {"/etc/cdi", "/var/run/cdi"}, devices);
  }

  FakeFileSystem files_;
};

constexpr const char* kSpec = R"({"cdiVersion": "0.6.0", "kind": "gpu.example.com/claim",
  "containerEdits": {"env": ["DRIVER=example"]},
  "devices": [{"name": "a", "containerEdits": {"env": ["GPU=0", "PATHS=/a=b"]}},
              {"name": "b", "containerEdits": {"env": ["GPU=1"]}}]})";

TEST_F(CdiEnvironmentTest, HasTheEditsOfTheFileAndOfEachDevice) {
  Write("/var/run/cdi/gpu.json", kSpec);
  const auto variables = Of({"gpu.example.com/claim=a"});
  ASSERT_TRUE(variables.ok()) << ToString(variables.status());
  EXPECT_THAT(*variables,
              ElementsAre(Pair("DRIVER", "example"), Pair("GPU", "0"), Pair("PATHS", "/a=b")));
}

TEST_F(CdiEnvironmentTest, OfTwoDevicesTheLaterOneCounts) {
  Write("/var/run/cdi/gpu.json", kSpec);
  EXPECT_EQ(Of({"gpu.example.com/claim=a", "gpu.example.com/claim=b"})->at("GPU"), "1");
}

TEST_F(CdiEnvironmentTest, ReadsYamlAndTheLaterDirectoryWins) {
  Write("/etc/cdi/gpu.yaml",
        "kind: gpu.example.com/claim\ndevices:\n- name: a\n  containerEdits: {env: [GPU=old]}\n");
  EXPECT_EQ(Of({"gpu.example.com/claim=a"})->at("GPU"), "old");
  Write("/var/run/cdi/gpu.json", kSpec);
  EXPECT_EQ(Of({"gpu.example.com/claim=a"})->at("GPU"), "0");
}

TEST_F(CdiEnvironmentTest, NamesADeviceThatNoFileHas) {
  Write("/var/run/cdi/broken.json", "{");
  const auto variables = Of({"gpu.example.com/claim=a"});
  EXPECT_EQ(variables.status().code(), Code::kNotFound);
  EXPECT_THAT(variables.status().message(), HasSubstr("gpu.example.com/claim=a"));
  EXPECT_THAT(variables.status().message(), HasSubstr("/etc/cdi, /var/run/cdi"));
  EXPECT_TRUE(Of({}).ok()) << "without devices nothing is looked for";
}

}  // namespace
}  // namespace galen::agent
