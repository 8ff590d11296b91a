#include "model/cdi_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CdiSpec Read(const std::string& edits, const std::string& name = "gpu0") {
  return ReadCdiSpec("/cdi/a.json", R"({"cdiVersion": "1.1.0", "kind": "vendor.com/gpu",
    "devices": [{"name": ")" + name + R"(", "containerEdits": )" +
                                        edits + "}]}");
}

TEST(CdiSpec, AGoodOneHasItsNamesAndNoFaults) {
  const CdiSpec seen = Read(R"({"env": ["A=1"], "deviceNodes": [{"path": "/dev/a"}],
    "mounts": [{"hostPath": "/a", "containerPath": "/b"}],
    "hooks": [{"hookName": "createContainer", "path": "/h", "env": ["B=2"]}]})");
  EXPECT_EQ(seen.unreadable, "");
  EXPECT_EQ(seen.kind, "vendor.com/gpu");
  EXPECT_THAT(seen.devices, ElementsAre("gpu0"));
  EXPECT_THAT(seen.faults, IsEmpty());
  EXPECT_THAT(seen.relative_paths, IsEmpty());
  EXPECT_EQ(seen.least_version, "0.3.0");
}

TEST(CdiSpec, EachRuleOfEditsIsHeld) {
  for (const char* edits : {
           R"({})",
           R"({"env": []})",
           R"({"env": ["A"]})",
           R"({"env": ["=1"]})",
           R"({"deviceNodes": [{}]})",
           R"({"deviceNodes": [{"path": "/dev/a", "type": "x"}]})",
           R"({"deviceNodes": [{"path": "/dev/a", "permissions": "rx"}]})",
           R"({"mounts": [{"containerPath": "/b"}]})",
           R"({"mounts": [{"hostPath": "/a"}]})",
           R"({"hooks": [{"hookName": "onStart", "path": "/h"}]})",
           R"({"hooks": [{"hookName": "poststop"}]})",
           R"({"hooks": [{"hookName": "poststop", "path": "/h", "env": ["B"]}]})",
           R"({"netDevices": [{"name": "e"}]})",
       }) {
    EXPECT_THAT(Read(edits).faults, SizeIs(1)) << edits;
  }
}

TEST(CdiSpec, FaultsAreListedInTheOrderInWhichTheEditsHaveThem) {
  EXPECT_THAT(Read(R"({"mounts": [{}]})").faults,
              ElementsAre(HasSubstr("hostPath"), HasSubstr("containerPath")));
  EXPECT_THAT(Read(R"({"hooks": [{"hookName": "no", "env": ["B"]}]})").faults,
              ElementsAre(HasSubstr("hook \"no\""), HasSubstr("a hook's path"), HasSubstr("env")));
}

// As the Go package that runtimes link; their containers fail on it later.
TEST(CdiSpec, ARelativePathIsNoReasonToLeaveAFileOut) {
  const CdiSpec seen = Read(R"({"deviceNodes": [{"path": "dev/a"}]})");
  EXPECT_THAT(seen.faults, IsEmpty());
  EXPECT_THAT(seen.relative_paths, ElementsAre(HasSubstr("dev/a")));
}

TEST(CdiSpec, ANodeMayBeGivenWithoutARightToIt) {
  EXPECT_THAT(Read(R"({"deviceNodes": [{"path": "/dev/a", "permissions": "none"}]})").faults,
              IsEmpty());
}

TEST(CdiSpec, AVersionIsEnoughOrIsYoungerThanWeAre) {
  for (const char* version : {"0.6.0", "1.1.0", "7.0.0"}) {
    CdiSpec spec{.cdi_version = version, .least_version = "0.6.0"};
    EXPECT_TRUE(IsCdiVersionEnough(spec)) << version;
    spec.least_version = "1.1.0";
    EXPECT_EQ(IsCdiVersionEnough(spec), std::string_view(version) != "0.6.0") << version;
  }
  for (const char* text : {"", "1.0", "1..0", "a.b.c", "1.0.0.0"}) {
    EXPECT_FALSE(IsCdiVersion(text)) << text;
  }
}

TEST(CdiSpec, DevicesHaveNamesAndEachItsOwn) {
  EXPECT_THAT(Read(R"({"env": ["A=1"]})", "gpu 0").faults, ElementsAre(HasSubstr("gpu 0")));
  EXPECT_THAT(Read(R"({"env": ["A=1"]})", "").faults, SizeIs(1));
  const CdiSpec twice = ReadCdiSpec("/a.json", R"({"devices": [
    {"name": "a", "containerEdits": {"env": ["A=1"]}},
    {"name": "a", "containerEdits": {"env": ["A=1"]}}]})");
  EXPECT_THAT(twice.faults, ElementsAre("device a is listed twice"));
  EXPECT_THAT(ReadCdiSpec("/a.json", "{}").faults, ElementsAre("it has no devices"));
}

TEST(CdiSpec, NeedsTheVersionThatKnowsAllItUses) {
  EXPECT_EQ(Read(R"({"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "bind"}]})")
                .least_version,
            "0.4.0");
  EXPECT_EQ(Read(R"({"env": ["A=1"]})", "0gpu").least_version, "0.5.0");
  EXPECT_EQ(Read(R"({"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b"}]})").least_version,
            "0.5.0");
  EXPECT_EQ(Read(R"({"intelRdt": {"closID": "a"}})").least_version, "0.7.0");
  EXPECT_EQ(Read(R"({"intelRdt": {"schemata": ["L3:0=f"]}})").least_version, "1.1.0");
  EXPECT_EQ(Read(R"({"netDevices": [{"hostInterfaceName": "eth0", "name": "e"}]})").least_version,
            "1.1.0");
  EXPECT_EQ(ReadCdiSpec("/a.json", R"({"kind": "vendor.com/gpu.v2"})").least_version, "0.6.0");
  EXPECT_EQ(ReadCdiSpec("/a.json", R"({"annotations": {"a": "b"}})").least_version, "0.6.0");
}

TEST(CdiSpec, IsJsonOrYamlByItsName) {
  EXPECT_EQ(ReadCdiSpec("/a.yaml", "kind: vendor.com/gpu\n").kind, "vendor.com/gpu");
  EXPECT_NE(ReadCdiSpec("/a.json", "kind: vendor.com/gpu\n").unreadable, "");
  EXPECT_NE(ReadCdiSpec("/a.json", "[]").unreadable, "");
}

TEST(CdiSpec, AHugeOneHasFewFaultsToRead) {
  std::string devices;
  for (int i = 0; i < 1000; ++i) devices += R"({"name": "!"},)";
  devices.pop_back();
  EXPECT_LE(ReadCdiSpec("/a.json", R"({"devices": [)" + devices + "]}").faults.size(), 8u);
}

TEST(CdiSpec, NamesAreOfTheSpecification) {
  for (const char* name : {"a", "vendor.com", "Vendor-1_b", "ZA"}) {
    EXPECT_TRUE(IsCdiName(name)) << name;
  }
  for (const char* name : {"", "1a", "a-", "a/b", "a b"}) EXPECT_FALSE(IsCdiName(name)) << name;
  for (const char* name : {"0", "gpu:0", "a.b_c-d"}) EXPECT_TRUE(IsCdiDeviceName(name)) << name;
  for (const char* name : {"", ":a", "a:", "a=b"}) EXPECT_FALSE(IsCdiDeviceName(name)) << name;
  EXPECT_TRUE(ParseCdiId("vendor.com/gpu=0").ok());
  EXPECT_EQ(ParseCdiId("gpu=0").status().message(), "kind \"gpu\" is not vendor/class");
  EXPECT_EQ(ParseCdiId("v.com/gpu=a b").status().message(),
            "device name \"a b\" is not one that CDI allows");
  for (const char* id : {"", "gpu0", "vendor.com=0", "vendor.com/gpu=", "/gpu=0"}) {
    EXPECT_FALSE(ParseCdiId(id).ok()) << id;
  }
}

}  // namespace
}  // namespace galen
