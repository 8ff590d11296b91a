#include "base/data/base64.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

constexpr std::pair<const char*, const char*> kRfcVectors[] = {{"", ""},
                                                               {"f", "Zg=="},
                                                               {"fo", "Zm8="},
                                                               {"foo", "Zm9v"},
                                                               {"foob", "Zm9vYg=="},
                                                               {"fooba", "Zm9vYmE="},
                                                               {"foobar", "Zm9vYmFy"}};

TEST(Base64, FollowsTheExamplesOfItsRfc) {
  for (const auto& [plain, encoded] : kRfcVectors) {
    EXPECT_EQ(EncodeBase64(plain), encoded);
    EXPECT_EQ(*DecodeBase64(encoded), plain);
  }
}

TEST(Base64, CarriesEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(*DecodeBase64(EncodeBase64(bytes)), bytes);
}

TEST(Base64, SkipsFoldedLines) { EXPECT_EQ(*DecodeBase64("Zm9v\n YmFy\r\n"), "foobar"); }

TEST(Base64, RefusesWhatItIsNot) {
  for (const char* text : {"Zg", "Zg=", "Z", "Zm9v=", "Zg==Zg==", "Zm9*", "====", "Zm9v-_"}) {
    EXPECT_FALSE(DecodeBase64(text).ok()) << text;
  }
}

TEST(Base64, ForUrlsAndFileNamesHasNeitherSlashNorPadding) {
  EXPECT_EQ(EncodeBase64("\xfb\xff\xfe?"), "+//+Pw==");
  EXPECT_EQ(EncodeBase64Url("\xfb\xff\xfe?"), "-__-Pw");
  EXPECT_EQ(EncodeBase64Url(""), "");
}

}  // namespace
}  // namespace galen
