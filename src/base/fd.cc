#include "base/fd.h"

#include <unistd.h>

namespace galen {

void Fd::Reset() {
  // EINTR is no reason to close again: Linux has already freed the number.
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace galen
