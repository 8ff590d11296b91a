// `galen conformance SOCKET-DIR|SOCKET|DRIVER`: plays a kubelet towards a DRA driver in any
// language and shows which rules it follows. The checks are in src/conformance.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/options.h"

namespace galen::cli {

// The command's arguments.
struct ConformanceArguments {
  std::string what;          // a registry directory, a registration socket, or a driver's name
  std::string kubelet_root;  // "" = the directory above plugins_registry, or /var/lib/kubelet
  std::vector<std::string> cdi_roots = {"/etc/cdi", "/var/run/cdi"};
  std::string node;
  Duration patience = std::chrono::seconds(60);
  bool read_only = false;
  bool full = false;   // act as a kubelet even where one may be running
  std::string output;  // text, json or junit; "" = what Options says
};

// sysexits.h EX_UNAVAILABLE: no driver to examine, or the given API server does not answer.
inline constexpr int kExitUnavailable = 69;

// The command's exit status and output.
struct ConformanceResult {
  int code = 0;         // 0, 1 (a check failed), 64, 69 or 130 (interrupted)
  std::string text;     // for standard output
  std::string problem;  // for standard error, when there is no result
};

// Uses a cluster only when --kubeconfig or --context names it: it creates claims there, for which
// an environment variable must not suffice. Blocks; test claims are removed when it returns.
ConformanceResult Conformance(const Options& options, const ConformanceArguments& arguments);

}  // namespace galen::cli
