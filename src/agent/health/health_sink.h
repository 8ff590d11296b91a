// Takes the reports of drivers and health sources. The plugin manager calls it: in the agent that
// is a side of the HealthMerger, which hands the merged health to the HealthKeeper, a sink as well.
#pragma once

#include <cstddef>
#include <string>

#include "agent/health/report_decoder.h"

namespace galen::agent {

// All calls come from the agent's loop.
class HealthSink {
 public:
  virtual ~HealthSink() = default;
  // The driver's authority reported, or the next part of a long report was read; `reported` is
  // when, now or a little ago. Returns how many devices changed, which the reporter is charged for.
  virtual std::size_t OnReport(const DecodedReport& report, Time reported) = 0;
  // Whether earlier reports have been published far enough to take the next part of a long report.
  virtual bool HasRoom() const { return true; }
  // The driver has an authority again.
  virtual void OnDriverConnected(const std::string& driver) = 0;
  // The driver's devices are not reported any more; `why` says the reason. DriverGone: the
  // connection or its stream is gone. NotReported: the driver is connected and has no health.
  virtual void OnDriverSilent(const std::string& driver, const Cause& why) = 0;
  // Whoever reported the device says that it is gone; `why` is for the log.
  virtual void Forget(const DeviceId& id, const std::string& why) = 0;
};

}  // namespace galen::agent
