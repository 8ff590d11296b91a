#include "probes/placeholders.h"

#include <gtest/gtest.h>

namespace galen::probes {
namespace {

TEST(Placeholders, StandForWhatTheDeviceIsKnownBy) {
  const CheckedDevice device{"gpu-0", {{"device", "gpu-0"}, {"pci", "0000:4b:00.0"}}};
  EXPECT_EQ(FillPlaceholders("{device}@{pci}!", device).text, "gpu-0@0000:4b:00.0!");
  EXPECT_EQ(FillPlaceholders("plain", device).text, "plain");
  EXPECT_EQ(FillPlaceholders("{pci}{uuid}{serial}", device).missing, "uuid");
  EXPECT_EQ(FillPlaceholders("{pci}", device).missing, "");
}

TEST(Placeholders, AnyOtherBraceIsWrong) {
  EXPECT_EQ(WrongPlaceholder("a{pci}b{uuid}"), "");
  EXPECT_EQ(WrongPlaceholder("plain"), "");
  EXPECT_EQ(WrongPlaceholder("a{bus}b"), "{bus}");
  EXPECT_EQ(WrongPlaceholder("{pci}}"), "}");
  EXPECT_EQ(WrongPlaceholder("a{pci"), "{pci");
  EXPECT_EQ(WrongPlaceholder("{}"), "{}");
}

}  // namespace
}  // namespace galen::probes
