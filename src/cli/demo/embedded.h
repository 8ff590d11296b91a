// Files of the source tree that are embedded in the program.
#pragma once

#include <string_view>

namespace galen::cli {

extern const std::string_view kDemoManifest;     // src/cli/demo/demo_manifest.yaml
extern const std::string_view kDeviceHealthCrd;  // deploy/crds/nodedevicehealths.yaml

}  // namespace galen::cli
