// Runs a galen-driver as a process: its real loop, files, sockets, kernel log and signals.
#pragma once

#include <functional>
#include <string_view>

#include "driver/driver_config.h"

namespace galen::device_driver {

// Checks the configuration as far as possible without starting anything: values, rules and
// kubeconfig. The node's name may come from $NODE_NAME. InvalidArgument holds every fault, one a
// line.
Status CheckDriver(DriverConfig config);

// Ends this process at once, with an exit code and a sentence for standard error ("": none); used
// when threads hang in calls that can be neither ended nor waited for. Called from any thread.
using EndProcess = std::function<void(int code, std::string_view sentence)>;

// Blocks until a signal and a clean end. The exit code: 0; 64 when the configuration is wrong and
// nothing was started; 1 when it could not start. Errors go to standard error. REQUIRES:
// CheckDriver found nothing.
int RunDriver(DriverConfig config, const EndProcess& end);

}  // namespace galen::device_driver
