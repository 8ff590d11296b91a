// `galen why POD`: the line of causes of a Pod's devices. The node's agent knows it to the
// millisecond; where its socket is out of reach, the API server's objects and Events tell what they
// can.
#pragma once

#include <string>

#include "cli/explanation.h"
#include "cli/options.h"
#include "cli/session.h"

namespace galen::cli {

// "trainer-0", "pod/trainer-0" or "train/trainer-0"; `ns` is what -n said, or "".
StatusOr<ObjectKey> ParsePod(const std::string& text, const std::string& ns);

StatusOr<std::string> Why(const Options& options, const std::string& pod);

}  // namespace galen::cli
