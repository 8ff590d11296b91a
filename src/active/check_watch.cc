#include "active/check_watch.h"

#include <utility>

namespace galen::active {

Status CheckWatch::Continue(std::string_view doing) {
  const Time now = options_.now();
  const bool stopped = state_.Update([&](State& state) {
    if (!state.stopped) state.view.doing = doing;
    return state.stopped;
  });
  if (stopped) return Cancelled("interrupted");
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
  state_.Update([&](State& state) { state.view.temperature = temperature; });
  if (!temperature || *temperature <= options_.temperature_most) return OkStatus();
  return FailedPrecondition("too hot: {:g} °C exceeds {:g} °C", *temperature,
                            options_.temperature_most);
}

void CheckWatch::Stop() {
  state_.Update([](State& state) { state.stopped = true; });
}

CheckWatch::View CheckWatch::Look() const {
  State state = state_.Get();
  // The time after the state: a call that begins in between would last less than nothing.
  if (!state.view.call.empty()) state.view.lasts = options_.now() - state.entered;
  return std::move(state.view);
}

void CheckWatch::Enter(std::string_view name) {
  const Time now = options_.now();
  state_.Update([&](State& state) {
    state.view.call = name;
    state.entered = now;
  });
}

void CheckWatch::Leave() {
  state_.Update([](State& state) { state.view.call.clear(); });
}

}  // namespace galen::active
