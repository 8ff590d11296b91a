// `galen inject`: makes a simulated device show a sign. For the simulator only: real hardware fails
// by itself.
#pragma once

#include <string>

#include "cli/options.h"

namespace galen::cli {

struct InjectArguments {
  std::string device;         // "gpu-3"; "" lists what can be injected
  std::string sign;           // "xid=79", "reset"
  std::string driver;         // "" = the only simulated one the agent knows
  std::string driver_socket;  // asks this socket instead of the agent for it
};

// What to print. InvalidArgument names what is wrong with the arguments.
StatusOr<std::string> Inject(const Options& options, const InjectArguments& arguments);

struct SignArgument {
  std::string name;
  std::string value;
  bool operator==(const SignArgument&) const = default;
};

// "xid=79" → {xid, 79}; "reset" → {reset, ""}.
StatusOr<SignArgument> ParseSign(const std::string& text);

}  // namespace galen::cli
