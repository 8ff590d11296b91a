// `galen conformance SOCKET-DIR|SOCKET|DRIVER`: plays a kubelet towards a DRA driver in any
// language and shows which of the rules it keeps. The checks are those of room conformance.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/options.h"

namespace galen::cli {

// What `galen conformance` is asked for.
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

// sysexits.h EX_UNAVAILABLE: nobody to examine, or the API server that was named does not answer.
inline constexpr int kExitUnavailable = 69;

// How it ended: the exit status and what is printed.
struct ConformanceResult {
  int code = 0;         // 0, 1 (a check failed), 64, 69 or 130 (interrupted)
  std::string text;     // for standard output
  std::string problem;  // for standard error, when there is no result
};

// Asks the cluster only when --kubeconfig or --context names one: it makes claims there, and an
// environment variable must not be enough for that. Blocks; test claims are gone when it returns.
ConformanceResult Conformance(const Options& options, const ConformanceArguments& arguments);

}  // namespace galen::cli
