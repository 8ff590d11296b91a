// A demo's directory and the paths in it. A value.
#pragma once

#include <string>

#include "base/status.h"

namespace galen::cli {

// Paths of one demo or measurement. The programs create the files.
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
  // That directory, absolute and without links; created if missing, and set to mode 0700.
  // AlreadyExists when it is not empty, since Remove would delete its files.
  static StatusOr<DemoPlace> MakeAt(const std::string& directory);
  // Removes the directory and everything in it, as far as possible.
  void Remove() const;
};

}  // namespace galen::cli
