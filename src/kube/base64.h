// Base64 (RFC 4648, with padding), as kubeconfig files and HTTP's Basic credentials carry it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::kube {

// White space between the characters is skipped: people fold long lines.
StatusOr<std::string> DecodeBase64(std::string_view text);
std::string EncodeBase64(std::string_view bytes);

}  // namespace galen::kube
