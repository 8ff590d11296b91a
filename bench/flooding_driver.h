// A hostile neighbour, as a process of this program: a driver without the SDK that says another
// thing of its devices ten thousand times a second, whether anybody listens or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace galen::bench {

inline constexpr const char* kFloodingDriverName = "flood.example.com";
// What this program is called with, first, to be that driver.
inline constexpr const char* kFloodingDriverMode = "as-flood";

// The driver's settings.
struct FloodingDriver {
  std::string kubelet_root = {};
  std::string name = kFloodingDriverName;
  std::int64_t devices = 8;
  std::int64_t reports_per_second = 10'000;
};

// The command line; `program` is this program's own path.
std::vector<std::string> CommandOf(const FloodingDriver& driver, const std::string& program);

// The process's main; `argv` as CommandOf made it, without the mode. Registers in the kubelet's
// root and runs until a signal.
int RunFloodingDriver(int argc, char** argv);

}  // namespace galen::bench
