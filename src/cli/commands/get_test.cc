#include "cli/commands/get.h"

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
  EXPECT_NE(text.status().message().find("devices, pods, nodes, drivers or checks"),
            std::string::npos);
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
  const Status device = Show(OneDevice(), "devices", "gpu-9", {}, {}).status();
  EXPECT_EQ(device.code(), Code::kNotFound);
  EXPECT_EQ(device.message(), "no device is called gpu-9: `galen get devices` lists their names");
  Options json;
  json.output = "json";
  EXPECT_EQ(Show(OneDevice(), "devices", "gpu-9", json, {}).status(), device);
}

Fleet HeldByTrainer() {
  Fleet fleet = OneDevice();
  fleet.devices[0].identity.model = "H200";
  fleet.devices[0].node = "node-7";
  fleet.devices[0].health.cause.code = "NotReported";
  fleet.devices[0].holders = {{{"train", "trainer-0"}, "claim", "gpu"}};
  return fleet;
}

TEST(Get, TakesAPodAsItsOwnTablesWriteIt) {
  for (const std::string name : {"trainer-0", "train/trainer-0", "pod/trainer-0"}) {
    const auto text = Show(HeldByTrainer(), "pods", name, {}, {});
    ASSERT_TRUE(text.ok()) << name;
    EXPECT_NE(text->find("gpu-3"), std::string::npos);
  }
  EXPECT_EQ(Show(HeldByTrainer(), "pods", "serve/trainer-0", {}, {}).status().message(),
            "no Pod trainer-0 in namespace serve holds a device: `galen get pods` lists them");
}

TEST(Get, SaysInWhichNamespaceItLooked) {
  Options options;
  options.ns = "serve";
  EXPECT_EQ(*Show(HeldByTrainer(), "pods", "", options, {}),
            "no Pod in namespace serve holds a device\n");
  EXPECT_EQ(Show(HeldByTrainer(), "pods", "trainer-0", options, {}).status().message(),
            "no Pod trainer-0 in namespace serve holds a device: `galen get pods` lists them");
  EXPECT_EQ(Show(HeldByTrainer(), "pods", "train/trainer-0", options, {}).status().code(),
            Code::kInvalidArgument);
}

TEST(Get, LeavesOutOfDevicesFirstWhatIsTheSameInEachRow) {
  const std::string text = *ShowLive(HeldByTrainer(), "devices", "", {}, {}, 62);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "DEVICE  HEALTH   SINCE  REASON       USED BY          DETAIL");
  Fleet two = HeldByTrainer();
  two.devices.push_back(two.devices[0]);
  two.devices[1].node = "node-8";
  EXPECT_TRUE(ShowLive(two, "devices", "", {}, {}, 62)->starts_with("NODE "))
      << "devices of two nodes may have one name";
}

TEST(Get, SaysWhichOfTheWideColumnsDoNotFit) {
  Options wide;
  wide.output = "wide";
  const std::string whole = *ShowLive(HeldByTrainer(), "devices", "", wide, {}, 200);
  EXPECT_EQ(whole.find("not fit"), std::string::npos) << whole;
  const std::string cut = *ShowLive(HeldByTrainer(), "devices", "", wide, {}, 90);
  EXPECT_NE(cut.find("columns do not fit: MODEL, NODE, DEADLINE"), std::string::npos) << cut;
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

TEST(Get, KindAndNameMayBeOneWord) {
  std::string kind = "pod/trainer-0", name;
  EXPECT_TRUE(SplitKind(kind, name).ok());
  EXPECT_EQ(kind + " " + name, "pod trainer-0");
  EXPECT_TRUE(SplitKind(kind, name).ok());
  EXPECT_EQ(kind + " " + name, "pod trainer-0");
}

TEST(Get, TwoNamesAreOneTooMany) {
  std::string kind = "pod/trainer-0", name = "trainer-1";
  EXPECT_EQ(SplitKind(kind, name).message(),
            "'pod/trainer-0' has a name already: leave out 'trainer-1'");
}

// It listed everything.
TEST(Get, ASlashWithoutANameIsRefused) {
  for (std::string kind : {"pods/", "devices/"}) {
    std::string name;
    const Status status = SplitKind(kind, name);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("has no name after the slash"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace galen::cli
