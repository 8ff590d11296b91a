#include "base/thread.h"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace galen {
namespace {

// Blocks all signals of the calling thread from here to the end of the scope.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &all, &before_) == 0);
  }
  ~SignalsBlocked() { GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &before_, nullptr) == 0); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

StatusOr<std::thread> StartThread(const std::string& name, std::function<void()> work) {
  // A longer name would be refused, and the thread have none.
  GALEN_CHECK(name.size() <= 15);
  const SignalsBlocked inherited;
  // The standard library has no other way to report it.
  try {
    return std::thread([name, work = std::move(work)] {
      pthread_setname_np(pthread_self(), name.c_str());
      work();
    });
  } catch (const std::system_error& error) {
    return ResourceExhausted(
        "start thread \"{}\": {}; raise the limit of processes (ulimit -u, pids.max of the control "
        "group)",
        name, error.code().message());
  }
}

}  // namespace galen
