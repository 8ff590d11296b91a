// The files of CDI directories, read as a container runtime does (container-device-interface,
// SPEC.md 1.1.0): which devices they define, or why they are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_system.h"
#include "doctor/observations.h"

namespace galen::doctor {

// Pure.
CdiFile ReadCdiFile(const std::string& path, std::string_view text);

// All .json and .yaml files; a directory that is not there holds none. NotFound when none of them
// is there, ResourceExhausted past kCdiFilesMax.
StatusOr<std::vector<CdiFile>> ReadCdiFiles(FileSystem& files,
                                            const std::vector<std::string>& directories);

inline constexpr std::size_t kCdiFilesMax = 4096;

}  // namespace galen::doctor
