// What every command of `galen` can be given.
#pragma once

#include <string>

#include "base/environment.h"
#include "kube/config.h"

namespace galen::cli {

// What every command of `galen` can be given; a value, filled in from flags and environment.
struct Options {
  kube::KubeconfigOptions cluster;
  std::string ns;                // -n; "" = all
  std::string output = "table";  // table, wide, json or yaml
  std::string agent_socket = "/run/galen/agent.sock";
  bool colour = false;      // a terminal, and NO_COLOR is not set
  std::size_t columns = 0;  // of the terminal, for text that is wrapped to it; 0 = as long as it is
  bool terminal = false;    // standard output is one
  Environment environment;

  bool wide() const { return output == "wide"; }
};

}  // namespace galen::cli
