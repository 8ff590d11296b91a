#include "cli/get.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

Fleet OneDevice() {
  DeviceView gpu;
  gpu.identity.id = {"gpu.example.com", "node-7", "gpu-3"};
  Fleet fleet;
  fleet.devices.push_back(gpu);
  return fleet;
}

TEST(Get, UnderstandsKindsInTheirShortForms) {
  for (const std::string kind : {"device", "devices", "dev"}) {
    const auto text = Show(OneDevice(), kind, "", {}, {});
    ASSERT_TRUE(text.ok()) << kind;
    EXPECT_NE(text->find("gpu-3"), std::string::npos);
  }
}

TEST(Get, NamesTheKindsItHasWhenAskedForAnother) {
  const auto text = Show(OneDevice(), "gadgets", "", {}, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), Code::kInvalidArgument);
  EXPECT_NE(text.status().message().find("devices, pods, nodes or drivers"), std::string::npos);
}

TEST(Get, SaysThatThereIsNothingInsteadOfAnEmptyTable) {
  EXPECT_EQ(*Show({}, "pods", "", {}, {}), "no Pod holds a device\n");
}

TEST(Get, ShowsPodsInBriefOnATerminalThatIsTooNarrowForAll) {
  Fleet fleet = OneDevice();
  fleet.devices[0].holders = {{{"train", "trainer-0"}, "claim", "gpu"}};
  EXPECT_EQ(*ShowLive(fleet, "pods", "", {}, {}, 200), *Show(fleet, "pods", "", {}, {}));
  const std::string brief = *ShowLive(fleet, "pods", "", {}, {}, 40);
  EXPECT_NE(brief.find("train/trainer-0"), std::string::npos) << brief;
  EXPECT_EQ(brief.find("MODEL"), std::string::npos) << brief;
}

TEST(Get, FailsWhenTheNamedOneIsNotThere) {
  EXPECT_EQ(Show(OneDevice(), "devices", "gpu-9", {}, {}).status().code(), Code::kNotFound);
}

TEST(Get, PrintsJsonAndYamlOfTheSame) {
  Options options;
  options.output = "json";
  const auto json = Json::Parse(*Show(OneDevice(), "devices", "", options, {}));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["items"][0]["device"].AsString(), "gpu-3");
  options.output = "yaml";
  EXPECT_NE(Show(OneDevice(), "devices", "", options, {})->find("device: gpu-3"),
            std::string::npos);
}

TEST(Get, WithoutAnApiServerSaysWhereItLooked) {
  Options options;
  options.cluster.path = "/nonexistent/kubeconfig";
  const auto text = Get(options, "pods", "");
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("/nonexistent/kubeconfig"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
