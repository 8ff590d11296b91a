// A program on a terminal of its own, as a person has it: what it draws, and keys that reach it,
// Ctrl-C too. Belongs to the test's thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"

namespace galen::e2e {

class PseudoTerminal {
 public:
  struct Size {
    unsigned short columns = 80;
    unsigned short rows = 24;
  };

  // Starts `command` (a path and its arguments) in a session whose terminal this is. `environment`
  // is all that it gets, "KEY=value"; it is not reached by signals of the test's own terminal.
  PseudoTerminal(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment, Size size);
  // Kills (SIGKILL) and reaps what still runs.
  ~PseudoTerminal();
  PseudoTerminal(const PseudoTerminal&) = delete;

  // Keys; "\x03" is Ctrl-C.
  void Type(const std::string& keys);
  // All that was written to the terminal so far.
  const std::string& Output();
  bool running();
  // Negative: the signal that ended it. REQUIRES: not running.
  int exit_code() const { return exit_code_; }
  pid_t pid() const { return pid_; }

 private:
  Fd master_;
  pid_t pid_ = -1;
  bool running_ = false;
  int exit_code_ = 0;
  std::string output_;
};

}  // namespace galen::e2e
