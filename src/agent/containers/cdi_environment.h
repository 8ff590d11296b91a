// The environment that drivers give to containers by CDI files: what a container runtime would read
// and a process can have. Mounts and hooks need a container and are left out; device nodes are
// those of the machine. Format: github.com/cncf-tags/container-device-interface, SPEC.md. Pure, but
// for reading.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files/file_system.h"

namespace galen::agent {

// Files of a directory that are looked at; one driver writes one a claim.
inline constexpr std::size_t kCdiFilesMax = 4096;

// The variables of these devices ("vendor.com/class=name"): of a file's own edits once for each
// file that has one of the devices, then of the devices in the order they are named; the last of a
// name counts. A directory that is missing holds none; of a device in two directories the later one
// counts. NotFound names the first device that no readable file has.
StatusOr<std::map<std::string, std::string>> CdiEnvironment(
    FileSystem& files, const std::vector<std::string>& directories,
    const std::vector<std::string>& devices);

}  // namespace galen::agent
