// Who takes the reports of drivers: the plugin manager calls it, the health keeper is one.
#pragma once

#include <cstddef>
#include <string>

#include "agent/health/report_decoder.h"

namespace galen::agent {

// All calls come from the agent's loop.
class HealthSink {
 public:
  virtual ~HealthSink() = default;
  // The driver's authority reported, or of a long report the next part is read; `reported` is when,
  // now or a little ago. Gives the number of devices that changed: what the report costs us.
  virtual std::size_t OnReport(const DecodedReport& report, Time reported) = 0;
  // Whether what was reported before is so far on its way that the next part of a long report may
  // come.
  virtual bool HasRoom() const { return true; }
  // The driver has an authority again.
  virtual void OnDriverConnected(const std::string& driver) = 0;
  // Nobody reports the driver's devices any more, or nobody can; why. DriverGone: the connection
  // or its stream is gone. NotReported: it is there and has no health.
  virtual void OnDriverSilent(const std::string& driver, const Cause& why) = 0;
  // The device is no more, as far as whoever reports it knows; why, for the log.
  virtual void Forget(const DeviceId& id, const std::string& why) = 0;
};

}  // namespace galen::agent
