#include "cli/output/table.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

TEST(Table, AlignsColumnsToTheirWidestCell) {
  Table table({"POD", "HEALTH"});
  table.Add({"trainer-0", "Unhealthy"});
  table.Add({"llm", "Healthy"});
  EXPECT_EQ(table.Text(false),
            "POD        HEALTH\n"
            "trainer-0  Unhealthy\n"
            "llm        Healthy\n");
}

TEST(Table, EndsALineWithItsLastText) {
  Table table({"DEVICE", "HEALTH", "REASON", "DETAIL"});
  table.Add({"gpu-0", "Unhealthy", "XidGpuLost", "XID 79"});
  table.Add({"gpu-1", "Healthy", "", {"", Tone::kFaint}});
  const std::string last = table.Text(true).substr(table.Text(true).rfind("gpu-1"));
  EXPECT_EQ(last, "gpu-1   Healthy\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({"VALUE", "UNIT"});
  table.Add({"91 °C", "x"});
  table.Add({"91 mC", "y"});
  EXPECT_EQ(table.Text(false), "VALUE  UNIT\n91 °C  x\n91 mC  y\n");
}

TEST(Table, ColoursOnlyWhenAsked) {
  Table table({"HEALTH"});
  table.Add({{"Unhealthy", Tone::kBad}});
  EXPECT_EQ(table.Text(false), "HEALTH\nUnhealthy\n");
  EXPECT_EQ(table.Text(true), "HEALTH\n\x1b[31;1mUnhealthy\x1b[0m\n");
}

TEST(Table, KeepsColumnsAlignedUnderColours) {
  Table table({"A", "B"});
  table.Add({{"bad", Tone::kBad}, "1"});
  table.Add({"fine!", "2"});
  EXPECT_EQ(table.Text(true), "A      B\n\x1b[31;1mbad\x1b[0m    1\nfine!  2\n");
}

TEST(Table, CanDoWithoutAColumn) {
  Table table({"NODE", "DEVICE", "HEALTH"}, 2);
  table.Add({"node-7", "gpu-0", "Healthy"});
  table.Add({"node-7", "gpu-1", "Unknown"});
  EXPECT_TRUE(table.SaysOneThing("NODE"));
  EXPECT_FALSE(table.SaysOneThing("DEVICE"));
  EXPECT_TRUE(table.Drop("NODE"));
  EXPECT_FALSE(table.Drop("NODE")) << "it is not there any more";
  EXPECT_EQ(table.Text(false), "DEVICE  HEALTH\ngpu-0   Healthy\ngpu-1   Unknown\n");
  EXPECT_EQ(table.finding(), 1u) << "how it is stands one column further left";
}

TEST(Table, ShowsNoControlCharacters) {
  Table table({"A"});
  table.Add({std::string("x\x1b[31my\n")});
  const std::string text = table.Text(false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

}  // namespace
}  // namespace galen::cli
