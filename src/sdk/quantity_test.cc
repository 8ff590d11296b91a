#include "sdk/quantity.h"

#include <gtest/gtest.h>

namespace galen::sdk {
namespace {

TEST(Quantity, HasTheFormsThatKubernetesReads) {
  for (const char* text : {"0", "16Gi", "+1.5e3", "-.5", "250m", "7.", "1E6", "3E", "100n"}) {
    EXPECT_TRUE(IsQuantity(text)) << text;
  }
  for (const char* text : {"", "16 GB", "1ki", "one", "1e", "--1", "1,5"}) {
    EXPECT_FALSE(IsQuantity(text)) << text;
  }
  EXPECT_FALSE(IsQuantity(std::string(65, '1')));
}

TEST(Quantity, IsTheSameInEveryForm) {
  EXPECT_TRUE(SameQuantity("1024Mi", "1Gi"));
  EXPECT_TRUE(SameQuantity("1.5e3", "1500"));
  EXPECT_TRUE(SameQuantity("1.5e3", "1500e0"));
  EXPECT_TRUE(SameQuantity("0.1", "100m"));
  EXPECT_TRUE(SameQuantity("1000k", "1M"));
  EXPECT_TRUE(SameQuantity("0.5Gi", "512Mi"));
  EXPECT_TRUE(SameQuantity("+5", "5.0"));
  EXPECT_TRUE(SameQuantity("5000u", "5m"));
  EXPECT_TRUE(SameQuantity("2E", "2000P"));
  EXPECT_TRUE(SameQuantity("1E3", "1000"));
}

TEST(Quantity, DiffersWhereTheAmountDoes) {
  EXPECT_FALSE(SameQuantity("1Gi", "1G"));
  EXPECT_FALSE(SameQuantity("141Gi", "141Mi"));
  EXPECT_FALSE(SameQuantity("5", "-5"));
  EXPECT_FALSE(SameQuantity("1n", "2n"));
  EXPECT_FALSE(SameQuantity("16 GB", "16Gi")) << "what is no quantity is only itself";
  EXPECT_TRUE(SameQuantity("16 GB", "16 GB"));
}

}  // namespace
}  // namespace galen::sdk
