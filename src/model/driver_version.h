// Versions of NVIDIA's driver, as its kernel module and the names of its library files show them.
// Module and libraries work together only when they are of one version. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace galen {

// Where distributions put 64-bit libraries, below the root that the driver is installed in: Debian
// and Ubuntu on both processors, Red Hat and SUSE, Arch.
inline constexpr std::array<std::string_view, 4> kNvidiaLibraryDirectories = {
    "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib"};

// What the loaded module says of itself: "570.124.06", of /sys/module/nvidia/version, or of the
// first line of /proc/driver/nvidia/version ("NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 570.124.06  Wed …"). "" when the text has no version.
std::string KernelModuleVersion(std::string_view text);

// The version in a library file's name: "570.124.06" of "libcuda.so.570.124.06", with or without
// directories before it. "" for names without one, such as "libcuda.so.1".
std::string LibraryVersion(std::string_view file);

// The versions in the names of libcuda's and libnvidia-ml's files, which every program loads that
// computes on GPUs or looks at them; each once, in the order of `names`.
std::vector<std::string> LibraryVersions(const std::vector<std::string>& names);

}  // namespace galen
