// The one way a thread begins.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace galen {

// Begins a thread that does `work`; whoever calls joins or detaches it. `name`, of 15 letters at
// most, is the thread's in ps -L, top and gdb. No signal is handled on it: signals are the loop's.
// ResourceExhausted where no thread can be started (a limit of processes or memory), with what to
// raise. Any thread may call.
StatusOr<std::thread> StartThread(const std::string& name, std::function<void()> work);

// StartThread, or what a test has in its place.
using ThreadStarter =
    std::function<StatusOr<std::thread>(const std::string& name, std::function<void()> work)>;

}  // namespace galen
