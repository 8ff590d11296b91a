// What every part of the agent that writes to the API server needs. Borrowed: it outlives the part.
#pragma once

#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"

namespace galen::agent {

// Parts that need more derive their own Edges from it.
struct ApiEdges {
  Loop& loop;
  Random& random;
  Log& log;
  Metrics& metrics;
  kube::Client& client;
};

}  // namespace galen::agent
