// Tested by why_test.cc and post_mortem_test.cc.
#include "cli/inspect/inspect_values.h"

#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {

WallTime FromNanos(std::int64_t nanos) { return WallTime(std::chrono::nanoseconds(nanos)); }

Cause FromProto(const inspect::v1::Cause& cause) {
  return {cause.code(),      cause.message(), cause.value(),
          cause.threshold(), cause.unit(),    ParseFaultOwner(cause.owner())};
}

}  // namespace galen::cli
