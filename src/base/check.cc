#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace galen {

void CheckFailed(const char* condition, const char* file, int line) {
  // Standard C only: the log may be what is broken.
  std::fprintf(stderr, "check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace galen
