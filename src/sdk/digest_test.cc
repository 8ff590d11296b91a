#include "sdk/digest.h"

#include <gtest/gtest.h>

namespace galen::sdk {
namespace {

// From FIPS 180-2: SHA-256("abc") = ba7816bf 8f01cfea …
TEST(Digest, IsSha256InHexadecimal) {
  EXPECT_EQ(DigestHex("abc", 8), "ba7816bf8f01cfea");
  EXPECT_EQ(DigestHex("abc", 32),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, IsBase64UrlWithoutPadding) {
  EXPECT_EQ(DigestBase64Url("abc", 8), "ungWv48Bz-o");
  EXPECT_EQ(DigestBase64Url("abc", 16), "ungWv48Bz-pBQUDeXa4iIw");
  EXPECT_EQ(DigestBase64Url("abc", 3), "ungW");
}

}  // namespace
}  // namespace galen::sdk
