// Notifies the service manager that started the program, as systemd's sd_notify(3) documents: that
// it is ready, that it stops, and, where a watchdog is set (WatchdogSec=), that its loop still
// runs. A loop that hangs sends nothing, and systemd ends and restarts the process. Belongs to its
// loop.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/loop/loop.h"

namespace galen {

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which has to be `self`: a child process
  // inherits them and must not answer for us. Where they are missing or mean nothing there is
  // nobody to notify, and calls do nothing.
  ServiceManager(Loop& loop, const Environment& environment, pid_t self);

  // From now on the watchdog is answered twice in each of its intervals.
  void Ready();
  void Stopping() { Send("STOPPING=1"); }

 private:
  void AnswerWatchdog();
  // Losing one is no matter: a full socket is a service manager that is busy.
  void Send(std::string_view state) const;

  Loop& loop_;
  const std::string socket_;  // "": none
  const Duration watchdog_;   // zero: none
  Timer timer_;
};

}  // namespace galen
