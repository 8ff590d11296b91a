// Where one demo lives: a directory of its own and the paths in it. A value.
#pragma once

#include <string>

#include "base/status.h"

namespace galen::cli {

struct DemoPlace {
  std::string directory;

  std::string kubeconfig() const { return directory + "/kubeconfig"; }
  std::string kubelet_root() const { return directory + "/kubelet"; }
  std::string agent_socket() const { return directory + "/agent.sock"; }
  std::string agent_state() const { return directory + "/agent"; }
  std::string cdi_root() const { return directory + "/cdi"; }
  std::string log(const std::string& program) const { return directory + "/" + program + ".log"; }

  // A new directory with a name short enough for unix sockets below it.
  static StatusOr<DemoPlace> Make(const std::string& parent);
  // Removes the directory and everything in it.
  void Remove() const;
};

}  // namespace galen::cli
