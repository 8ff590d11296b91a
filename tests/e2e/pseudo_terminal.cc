#include "tests/e2e/pseudo_terminal.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/check.h"

namespace galen::e2e {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

PseudoTerminal::PseudoTerminal(const std::vector<std::string>& command,
                               const std::vector<std::string>& environment, Size size) {
  master_ = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  GALEN_CHECK(master_ && ::grantpt(master_.get()) == 0 && ::unlockpt(master_.get()) == 0);
  const winsize window{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  GALEN_CHECK(::ioctl(master_.get(), TIOCSWINSZ, &window) == 0);
  const std::string terminal = ::ptsname(master_.get());
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // The first terminal that the leader of a new session opens becomes the session's own.
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, terminal.c_str(), O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  running_ = ::posix_spawn(&pid_, command.front().c_str(), &actions, &attributes,
                           Pointers(command).data(), Pointers(environment).data()) == 0;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  GALEN_CHECK(running_);
}

PseudoTerminal::~PseudoTerminal() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void PseudoTerminal::Type(const std::string& keys) {
  GALEN_CHECK(::write(master_.get(), keys.data(), keys.size()) == std::ssize(keys));
}

const std::string& PseudoTerminal::Output() {
  char buffer[16 * 1024];
  ssize_t count = 0;
  // EIO once the other side is closed for good.
  while ((count = ::read(master_.get(), buffer, sizeof(buffer))) > 0) {
    output_.append(buffer, static_cast<std::size_t>(count));
  }
  return output_;
}

bool PseudoTerminal::running() {
  // A full terminal would hold the program up.
  Output();
  int status = 0;
  if (!running_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return running_;
  running_ = false;
  exit_code_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  Output();
  return false;
}

}  // namespace galen::e2e
