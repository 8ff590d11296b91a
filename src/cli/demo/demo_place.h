// Where one demo lives: a directory of its own and the paths in it. A value.
#pragma once

#include <string>

#include "base/status.h"

namespace galen::cli {

// Paths of one demo or measurement. The programs make what lies at them.
struct DemoPlace {
  std::string directory;

  std::string kubeconfig() const { return directory + "/kubeconfig"; }
  std::string kubelet_root() const { return directory + "/kubelet"; }
  std::string agent_socket() const { return directory + "/agent.sock"; }
  std::string agent_state() const { return directory + "/agent"; }
  std::string cdi_root() const { return directory + "/cdi"; }
  // What a program writes to standard output and error.
  std::string log(const std::string& program) const { return directory + "/" + program + ".log"; }

  // A new directory "galen-XXXXXX" in `parent`, mode 0700, with a name short enough for unix
  // sockets below it (a socket's path has room for 107 bytes). Errors are those of mkdtemp(3).
  static StatusOr<DemoPlace> Make(const std::string& parent);
  // That directory, absolute and without links; made when it is missing, and of mode 0700 from now
  // on. AlreadyExists when something is in it: what is there is somebody's, and Remove would take
  // it along.
  static StatusOr<DemoPlace> MakeAt(const std::string& directory);
  // Removes the directory and everything in it, as far as that can be.
  void Remove() const;
};

}  // namespace galen::cli
