// Finds processes of this machine by environment or control group, and signals them by a pidfd: a
// process id alone may have been reused by the time it is used. Linux only; blocking, a few
// milliseconds for some hundred processes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace galen::agent {

// Whether a process is one to be signalled; called while its handle is held, so that the signal
// reaches the process that was checked.
using IsMeant = std::function<bool(pid_t pid)>;

// Sends `signal` to those of `pids` that are meant, except to the caller itself. How many got it.
int SignalThese(const std::vector<pid_t>& pids, int signal, const IsMeant& is_meant);

// Every process of the machine that can be seen.
std::vector<pid_t> AllProcesses();

// Whether a line of the environment that the process was started with satisfies the function; false
// for a process of another user.
bool HasEnvironmentLine(pid_t pid, const std::function<bool(std::string_view line)>& is_such);

// Whether the process belongs to the control group at that path below a hierarchy's root.
bool IsInControlGroup(pid_t pid, std::string_view group);

}  // namespace galen::agent
