#include "sdk/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "base/data/base64.h"

namespace galen::sdk {
namespace {

constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<unsigned char, kDigestBytes>;

Digest Sha256(std::string_view text) {
  Digest digest{};
  const int ok =
      EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  // OpenSSL fails here only without memory or without SHA-256, which the program cannot handle.
  GALEN_CHECK(ok == 1);
  return digest;
}

}  // namespace

std::string DigestBase64Url(std::string_view text, std::size_t bytes) {
  GALEN_CHECK(bytes <= kDigestBytes);
  const Digest digest = Sha256(text);
  return EncodeBase64Url({reinterpret_cast<const char*>(digest.data()), bytes});
}

std::string DigestHex(std::string_view text, std::size_t bytes) {
  GALEN_CHECK(bytes <= kDigestBytes);
  const Digest digest = Sha256(text);
  std::string encoded;
  for (std::size_t i = 0; i < bytes; ++i) encoded += fmt::format("{:02x}", digest[i]);
  return encoded;
}

}  // namespace galen::sdk
