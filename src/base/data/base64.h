// Base64 (RFC 4648). The plain alphabet with padding is what kubeconfig files, Secrets' data and
// HTTP's Basic credentials carry; the one for URLs goes into names of files. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace galen {

// White space between the characters is skipped: people fold long lines. InvalidArgument for
// foreign characters, and for padding that is missing, too much or in the middle.
StatusOr<std::string> DecodeBase64(std::string_view text);
std::string EncodeBase64(std::string_view bytes);

// "-" and "_" for "+" and "/", without padding.
std::string EncodeBase64Url(std::string_view bytes);

}  // namespace galen
