#include "sdk/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>

#include "base/check.h"

namespace galen::sdk {
namespace {

constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<unsigned char, kDigestBytes>;

Digest Sha256(std::string_view text) {
  Digest digest{};
  const int ok =
      EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  GALEN_CHECK(ok == 1);
  return digest;
}

}  // namespace

std::string DigestBase64Url(std::string_view text, std::size_t bytes) {
  GALEN_CHECK(bytes <= kDigestBytes);
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const Digest digest = Sha256(text);
  std::string encoded;
  std::uint32_t bits = 0;
  int waiting = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    bits = (bits << 8) | digest[i];
    for (waiting += 8; waiting >= 6;) {
      waiting -= 6;
      encoded += kAlphabet[(bits >> waiting) & 63];
    }
  }
  if (waiting > 0) encoded += kAlphabet[(bits << (6 - waiting)) & 63];
  return encoded;
}

std::string DigestHex(std::string_view text, std::size_t bytes) {
  GALEN_CHECK(bytes <= kDigestBytes);
  const Digest digest = Sha256(text);
  std::string encoded;
  for (std::size_t i = 0; i < bytes; ++i) encoded += fmt::format("{:02x}", digest[i]);
  return encoded;
}

}  // namespace galen::sdk
