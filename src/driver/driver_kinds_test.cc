#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/files/fake_file_system.h"
#include "driver/driver_config.h"

namespace galen::device_driver {
namespace {

using ::testing::HasSubstr;

// What the command line of this kind gives without a flag.
DriverConfig DefaultsOf(const KindSpec& kind) {
  DriverConfig config;
  Flags flags("galen-driver", "", "");
  AddFlags(flags.AddCommand(std::string(kind.name), std::string(kind.summary)), kind, config);
  config.driver.node = "node-7";
  return config;
}

// The program asks the table with each value, and would end if it had no row.
TEST(DriverKinds, EachHasOneRowAndNamesOfItsOwn) {
  std::set<std::string_view> names, drivers;
  for (const KindSpec& kind : Kinds()) {
    EXPECT_EQ(&SpecOf(kind.kind), &kind) << kind.name;
    names.insert(kind.name);
    drivers.insert(kind.driver);
  }
  EXPECT_EQ(names.size(), Kinds().size());
  EXPECT_EQ(drivers.size(), Kinds().size());
  EXPECT_EQ(static_cast<std::size_t>(Kind::kSysfs) + 1, Kinds().size());
}

TEST(DriverKinds, ReadTheirBuiltInTableWithoutAFault) {
  FakeFileSystem files;
  for (const KindSpec& kind : Kinds()) {
    const auto table = LoadRules(files, DefaultsOf(kind));
    ASSERT_TRUE(table.ok()) << kind.name << ": " << table.status().message();
    EXPECT_EQ(table->rules.empty(), kind.rules == nullptr) << kind.name;
  }
}

// Taking every device of the machine would offer the node's own to Pods.
TEST(DriverKinds, OfRealDevicesThatAreChosenDemandToBeToldWhich) {
  for (const auto& [kind, missing] : {std::pair(Kind::kNic, "--interfaces is missing"),
                                      std::pair(Kind::kPci, "--select is missing"),
                                      std::pair(Kind::kSysfs, "--pattern is missing")}) {
    EXPECT_THAT(Validate(DefaultsOf(SpecOf(kind))).message(), HasSubstr(missing));
  }
  EXPECT_EQ(Validate(DefaultsOf(SpecOf(Kind::kGpu))), OkStatus());
  EXPECT_EQ(Validate(DefaultsOf(SpecOf(Kind::kNvidia))), OkStatus());
}

TEST(DriverKinds, ThatReadNoFilesRefuseRulesThatNeedThem) {
  FakeFileSystem files;
  ASSERT_EQ(files.WriteAtomically("/rules.yaml", "extends: memory\n", 0600), OkStatus());
  for (const KindSpec& kind : Kinds()) {
    DriverConfig config = DefaultsOf(kind);
    config.rules_path = "/rules.yaml";
    const Status status = LoadRules(files, config).status();
    if (kind.reads_files) {
      EXPECT_EQ(status, OkStatus()) << kind.name;
      continue;
    }
    EXPECT_THAT(status.message(), HasSubstr("which only galen-driver pci and sysfs read"))
        << kind.name;
  }
}

}  // namespace
}  // namespace galen::device_driver
