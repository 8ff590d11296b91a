#include "conformance/waiter.h"

namespace galen::conformance {

bool EpollWaiter::WaitUntil(const std::function<bool()>& done, Duration limit) {
  const Time end = loop_.Now() + limit;
  const Timer timer = loop_.At(end, [this] { loop_.Stop(); });
  while (!done() && (!interrupted_ || putting_away_) && loop_.Now() < end) loop_.Run();
  return done();
}

void EpollWaiter::Interrupt() {
  interrupted_ = true;
  loop_.Stop();
}

}  // namespace galen::conformance
