// What is applied to a cluster is what the rest of the tree says of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/data/yaml.h"
#include "base/version.h"
#include "tests/tidy/source_tree.h"

namespace galen::tidy {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(std::string(GALEN_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Documents of a YAML file, which stand between lines of three dashes.
std::vector<std::string> DocumentsOf(const std::string& text) {
  std::vector<std::string> documents;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find("\n---\n", from)) != std::string::npos; from = at + 5) {
    documents.push_back(text.substr(from, at + 1 - from));
  }
  documents.push_back(text.substr(from));
  return documents;
}

// Paths of members that have no value: what is left of a sentence with a comma that was not quoted.
void FindEmpty(const Json& value, const std::string& path, std::string& found) {
  if (value.is_null()) found += path + "\n";
  for (const auto& [name, member] : value.members()) FindEmpty(member, path + "." + name, found);
  for (const Json& item : value.items()) FindEmpty(item, path + "[]", found);
}

TEST(Deploy, InstallsTheDefinitionOfNodeDeviceHealthAsItsFileHasIt) {
  const std::string crd = TextOf("deploy/crds/nodedevicehealths.yaml");
  ASSERT_NE(crd, "");
  EXPECT_NE(TextOf("deploy/galen.yaml").find("\n---\n" + crd + "---\n"), std::string::npos)
      << "deploy/galen.yaml holds another text: put the whole of the file in its place";
}

TEST(Deploy, RunsTheImageOfThisVersion) {
  const std::string image = "image: localhost/galen:" + std::string(kVersion) + "\n";
  for (const char* manifest : {"deploy/galen.yaml", "deploy/examples/check.yaml",
                               "deploy/examples/driver.yaml", "deploy/examples/health-only.yaml"}) {
    EXPECT_NE(TextOf(manifest).find(image), std::string::npos) << manifest << " wants " << image;
  }
}

TEST(Deploy, TheServiceReadsTheKernelsBootIdAndIsStartedAgainForEver) {
  const std::string unit = "\n" + TextOf("deploy/systemd/galen-agent.service");
  EXPECT_EQ(unit.find("\nProcSubset="), std::string::npos)
      << "it hides /proc/sys/kernel/random/boot_id: no reboot of the node would be noticed";
  const std::size_t limit = unit.find("\nStartLimitIntervalSec=0\n");
  EXPECT_LT(limit, unit.find("\n[Service]\n")) << "systemd gives up after five quick ends";
  EXPECT_NE(unit.find("\nRestart=always\n"), std::string::npos);
}

TEST(Deploy, TheServiceIsStartedAgainWhenItHangs) {
  const std::string unit = "\n" + TextOf("deploy/systemd/galen-agent.service");
  EXPECT_NE(unit.find("\nType=notify\n"), std::string::npos);
  EXPECT_NE(unit.find("\nWatchdogSec=30\n"), std::string::npos);
}

TEST(Deploy, HoldsNoMemberWithoutAValue) {
  std::vector<std::string> paths = {"deploy/galen.yaml", "deploy/crds/nodedevicehealths.yaml"};
  const std::filesystem::path examples = std::string(GALEN_SOURCE_DIR) + "/deploy/examples";
  for (const auto& entry : std::filesystem::directory_iterator(examples)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".yaml")) paths.push_back("deploy/examples/" + name);
  }
  EXPECT_GT(paths.size(), 3U) << "the examples are read as well";
  for (const std::string& path : paths) {
    for (const std::string& document : DocumentsOf(TextOf(path))) {
      const StatusOr<Json> value = ParseYaml(document);
      ASSERT_TRUE(value.ok()) << path << ": " << value.status().message();
      std::string found;
      FindEmpty(*value, "", found);
      EXPECT_EQ(found, "") << path;
    }
  }
}

}  // namespace
}  // namespace galen::tidy
