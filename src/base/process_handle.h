// Handles that mean one process (pidfd_open(2)): a number alone may be another's by the time that
// it is used. Linux only. System calls without state of ours, safe from any thread.
#pragma once

#include <sys/types.h>

#include "base/fd.h"

namespace galen {

// A handle of the process that has this number now, readable once it has ended; empty without one,
// with errno set.
Fd OpenProcess(pid_t pid);

// Sends the signal to that very process; 0 only asks whether it is there. False when it has ended,
// or may not be signalled.
bool SignalProcess(const Fd& handle, int signal);

}  // namespace galen
