// The examination of one driver from beginning to end: what a kubelet would do with it, in an order
// in which no part spoils another, and what was seen.
#pragma once

#include <string>
#include <vector>

#include "conformance/link.h"

namespace galen::conformance {

// Which driver is examined, and how far that may go.
struct ExaminationOptions {
  // What finding the driver showed: socket, info, twins, kubelet_root.
  RegistrationSeen found;
  // Only what a driver that a kubelet uses does not feel: GetInfo, one health stream a version,
  // slices and files. Nothing is notified, prepared or crowded.
  bool read_only = false;
  std::vector<std::string> cdi_directories;
  std::string node;                              // "" = found out from slices and reports
  std::string ns = "default";                    // where test claims are made
  Duration patience = std::chrono::seconds(60);  // how long repetitions of health are waited for
};

// Test claims are gone when it returns.
Observations Examine(const Edges& edges, const ExaminationOptions& options);

}  // namespace galen::conformance
