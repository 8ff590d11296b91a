// What Galen's own drivers use of a galen::Driver beyond its public header: they judge signs on its
// loop, count into its metrics, and accept injected faults. Not installed.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "base/loop/io_loop.h"
#include "base/metrics.h"
#include "galen/driver.h"
#include "sdk/app/checks_service.h"
#include "sdk/app/simulator_service.h"

namespace galen::sdk {

// Borrowed from the driver for as long as it lives; used before Run() from its thread, and then on
// its loop.
struct DriverInside {
  // nullopt: the event loop could not be made, which was logged; Run() would fail.
  static std::optional<DriverInside> Of(Driver& driver);
  // Run() runs a health source for the driver of the options' name instead, with its socket in
  // `directory` (HealthSource). Before Run(). Options for sockets, slices, claims and the API
  // server are then ignored, and so is OnPrepare.
  static void BecomeHealthSource(Driver& driver, std::string directory);
  // Serves the simulator's service on the driver's socket. Before Run(); `devices` outlives it.
  static void Simulate(Driver& driver, SimulatedDevices& devices);
  // Serves the results and costs of checks on the driver's socket, or the health source's. Before
  // Run(); `source` outlives it.
  static void ShowChecks(Driver& driver, const CheckSource& source);

  IoLoop& loop;
  Log& log;
  Metrics& metrics;
};

}  // namespace galen::sdk
