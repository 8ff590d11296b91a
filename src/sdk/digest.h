// Short names for long ones: SHA-256 in base64url without padding, or in hexadecimal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galen::sdk {

// The first `bytes` bytes of the digest, encoded. REQUIRES: bytes <= 32. Letters, digits, "-" and
// "_" only: fit for a file's name, not for a Kubernetes name. 8 bytes give 11 characters, 16 give
// 22.
std::string DigestBase64Url(std::string_view text, std::size_t bytes);
std::string DigestHex(std::string_view text, std::size_t bytes);

}  // namespace galen::sdk
