// Base64 (RFC 4648): for Secrets' data and continue tokens. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace galen::cluster_sim {

std::string EncodeBase64(std::string_view bytes);
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace galen::cluster_sim
