// Values that several answers of the agent's socket hold. Pure.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/health.h"

namespace galen::inspect::v1 {
class Cause;
}  // namespace galen::inspect::v1

namespace galen::cli {

// Nanoseconds since 1970, as in the fields *_unix_nanos.
WallTime FromNanos(std::int64_t nanos);

Cause FromProto(const inspect::v1::Cause& cause);

}  // namespace galen::cli
