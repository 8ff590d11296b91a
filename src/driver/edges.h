// What the parts of a galen-driver need of its process.
#pragma once

#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "probes/kernel_log/state_file.h"
#include "probes/rules/rule.h"

namespace galen::device_driver {

// Borrowed; they outlive all parts. The state file is loaded already.
struct Edges {
  Loop& loop;
  Log& log;
  Metrics& metrics;
  probes::StateFile& state;
  const probes::RuleTable& rules;
};

}  // namespace galen::device_driver
