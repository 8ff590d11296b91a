#include "active/check_watch.h"

#include <utility>

namespace galen::active {

Status CheckWatch::Continue(std::string_view doing) {
  const Time now = options_.now();
  {
    MutexLock lock(mu_);
    if (state_.stopped) return Cancelled("interrupted");
    state_.view.doing = doing;
  }
  if (now >= options_.end) return DeadlineExceeded("the time is over");
  return CheckTemperature(now);
}

Status CheckWatch::CheckTemperature(Time now) {
  if (!options_.temperature || (looked_ && now - *looked_ < kTemperatureEvery)) return OkStatus();
  looked_ = now;
  std::optional<double> temperature;
  {
    const Call call(*this, "reading the temperature");
    temperature = options_.temperature();
  }
  {
    MutexLock lock(mu_);
    state_.view.temperature = temperature;
  }
  if (!temperature || *temperature <= options_.temperature_most) return OkStatus();
  return FailedPrecondition("too hot: {:g} °C exceeds {:g} °C", *temperature,
                            options_.temperature_most);
}

void CheckWatch::Stop() {
  MutexLock lock(mu_);
  state_.stopped = true;
}

CheckWatch::View CheckWatch::Look() const {
  State state;
  {
    MutexLock lock(mu_);
    state = state_;
  }
  // The clock is read after the state. Read before it, a call that begins in between would seem to
  // have begun in the future.
  if (!state.view.call.empty()) state.view.lasts = options_.now() - state.entered;
  return std::move(state.view);
}

void CheckWatch::Enter(std::string_view name) {
  const Time now = options_.now();
  MutexLock lock(mu_);
  state_.view.call = name;
  state_.entered = now;
}

void CheckWatch::Leave() {
  MutexLock lock(mu_);
  state_.view.call.clear();
}

}  // namespace galen::active
