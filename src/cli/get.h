// `galen get KIND [NAME]`: devices, Pods with devices, nodes or drivers.
#pragma once

#include <string>

#include "cli/fleet.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/views.h"

namespace galen::cli {

// Asks the API server for everything that a fleet is joined from. `ns` "" = all.
StatusOr<FleetObjects> FetchFleet(Session& session, const std::string& ns);

// `kind` in any of its spellings ("pod", "pods", "po"), as options.output says. Ends in a newline.
StatusOr<std::string> Show(const Fleet& fleet, const std::string& kind, const std::string& name,
                           const Options& options, WallTime now);

StatusOr<std::string> Get(const Options& options, const std::string& kind, const std::string& name);

}  // namespace galen::cli
