#include "cluster_sim/base64.h"

#include <gtest/gtest.h>

namespace galen::cluster_sim {
namespace {

TEST(Base64, EncodesTheVectorsOfItsRfc) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(EncodeBase64(plain), coded);
    EXPECT_EQ(DecodeBase64(coded), plain);
  }
}

TEST(Base64, KeepsAnyByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)), bytes);
}

TEST(Base64, RefusesOtherLetters) { EXPECT_FALSE(DecodeBase64("Zm9v!").has_value()); }

}  // namespace
}  // namespace galen::cluster_sim
