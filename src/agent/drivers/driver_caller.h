// Calls a driver to prepare and unprepare claims: the plugin manager is one, and a fake in tests.
// Belongs to the agent's loop.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace galen::agent {

// NodePrepareResources or NodeUnprepareResources.
enum class NodeCall { kPrepare, kUnprepare };

class DriverCaller {
 public:
  virtual ~DriverCaller() = default;
  // `request` is a NodePrepareResourcesRequest or NodeUnprepareResourcesRequest, encoded; v1 and
  // v1beta1 have the same fields. `done` runs once, later, with the encoded response; Unavailable
  // when no instance of the driver is connected. Errors do not name the driver: callers do.
  virtual void CallDriver(const std::string& driver, NodeCall call, std::string request,
                          std::function<void(StatusOr<std::string>)> done) = 0;
};

}  // namespace galen::agent
