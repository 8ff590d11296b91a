#include "base/process_handle.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace galen {

// By number: the C library of Debian 12 declares neither function for C++.
Fd OpenProcess(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool SignalProcess(const Fd& handle, int signal) {
  return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

}  // namespace galen
