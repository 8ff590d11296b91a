#include "active/check_watch.h"

namespace galen::active {

Status CheckWatch::Continue(std::string_view doing) {
  const Time now = options_.now();
  {
    MutexLock lock(mu_);
    if (stopped_) return Cancelled("interrupted");
    view_.doing = doing;
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
    view_.temperature = temperature;
  }
  if (!temperature || *temperature <= options_.temperature_most) return OkStatus();
  return FailedPrecondition("too hot: {:g} °C exceeds {:g} °C", *temperature,
                            options_.temperature_most);
}

void CheckWatch::Stop() {
  MutexLock lock(mu_);
  stopped_ = true;
}

CheckWatch::View CheckWatch::Look() const {
  const Time now = options_.now();
  MutexLock lock(mu_);
  View view = view_;
  if (!view.call.empty()) view.lasts = now - entered_;
  return view;
}

void CheckWatch::Enter(std::string_view name) {
  const Time now = options_.now();
  MutexLock lock(mu_);
  view_.call = name;
  entered_ = now;
}

void CheckWatch::Leave() {
  MutexLock lock(mu_);
  view_.call.clear();
}

}  // namespace galen::active
