// The options that all commands of `galen` share.
#pragma once

#include <string>

#include "base/environment.h"
#include "kube/config.h"

namespace galen::cli {

// Options of all commands; a value, filled in from flags and environment.
struct Options {
  kube::KubeconfigOptions cluster;
  std::string ns;                // -n; "" = all
  std::string output = "table";  // table, wide, json or yaml
  std::string agent_socket = "/run/galen/agent.sock";
  bool colour = false;      // a terminal, and NO_COLOR is not set
  std::size_t columns = 0;  // the terminal's width, for wrapping; 0 = no wrapping
  bool terminal = false;    // standard output is one
  Environment environment;

  bool wide() const { return output == "wide"; }
};

}  // namespace galen::cli
