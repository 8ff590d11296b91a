// The CDI directories of a node, as a container runtime finds them.
#pragma once

#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "model/cdi_spec.h"

namespace galen::conformance {

// All .json and .yaml files, at most 4096; a directory that is not there or may not be read holds
// none, a file that may not be read says why.
std::vector<CdiSpec> ReadCdiDirectories(FileSystem& files,
                                        const std::vector<std::string>& directories);

}  // namespace galen::conformance
