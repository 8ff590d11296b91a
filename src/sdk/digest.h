// Short names for long ones: SHA-256 in base64url without padding, or in hexadecimal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galen::sdk {

// Of the first `bytes` bytes of the digest. REQUIRES: bytes <= 32.
std::string DigestBase64Url(std::string_view text, std::size_t bytes);
std::string DigestHex(std::string_view text, std::size_t bytes);

}  // namespace galen::sdk
