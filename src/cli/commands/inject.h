// `galen inject`: makes a simulated device show a sign. For the simulator only: real hardware fails
// by itself.
#pragma once

#include <string>

#include "cli/options.h"

namespace galen::cli {

// What the command line names.
struct InjectArguments {
  std::string device;         // "gpu-3"; "" lists what can be injected
  std::string sign;           // "xid=79", "reset"
  std::string driver;         // "" = the simulated one that has the device, or the only one
  std::string driver_socket;  // asks this socket instead of the agent for it
};

// Makes the device show the sign, waits for up to 2 s until its agent has published what that
// changed (not with `driver_socket`, which may have no agent), and gives what to print: the moment
// at which it did, or, without a device, a table of what can be injected. InvalidArgument names
// what is wrong with the arguments, NotFound says that agent, driver or device are not there or not
// simulated. Repeating injects once more.
StatusOr<std::string> Inject(const Options& options, const InjectArguments& arguments);

// A sign as people write it.
struct SignArgument {
  std::string name;
  std::string value;
  bool operator==(const SignArgument&) const = default;
};

// "xid=79" → {xid, 79}; "reset" → {reset, ""}. The value may hold further '='. InvalidArgument for
// anything else; whether there is such a sign the driver says.
StatusOr<SignArgument> ParseSign(const std::string& text);

}  // namespace galen::cli
