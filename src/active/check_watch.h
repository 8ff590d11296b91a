// Connects a check, on a thread of its own, with whoever waits for it on a loop: whether the check
// may go on, what it does, and which call of a device's driver it is in and since when. Safe from
// both threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time.h"

namespace galen::active {

class CheckWatch {
 public:
  // When the check has to end, and how hot the device may get.
  struct Options {
    std::function<Time()> now;                             // called from both threads
    Time end = Time::max();                                // when the check has to be over
    std::function<std::optional<double>()> temperature{};  // °C; may be slow; empty: not known
    double temperature_most = 0;                           // °C; the check stops above it
  };
  // The least time between two looks at the temperature.
  static constexpr Duration kTemperatureEvery = std::chrono::seconds(1);

  explicit CheckWatch(Options options) : options_(std::move(options)) {}
  CheckWatch(const CheckWatch&) = delete;

  // These are called by the check itself.

  // Between two steps, each of which takes a fraction of a second: whether there may be another.
  // Cancelled: somebody asked it to stop; DeadlineExceeded: its time is over; FailedPrecondition:
  // the device is too hot. None of these is a fault of the device.
  Status Continue(std::string_view doing);
  Time Now() const { return options_.now(); }

  // While this lives, the check is in the call `name`, which may never return.
  class Call {
   public:
    Call(CheckWatch& watch, std::string_view name) : watch_(watch) { watch_.Enter(name); }
    ~Call() { watch_.Leave(); }
    Call(const Call&) = delete;

   private:
    CheckWatch& watch_;
  };

  // For the loop's thread.

  // The next Continue gives Cancelled.
  void Stop();

  // What the check is doing now.
  struct View {
    std::string doing{};                  // "walking ones"; "" before the first step
    std::string call{};                   // "cuMemAlloc_v2"; "" outside of calls
    Duration lasts{};                     // of the call
    std::optional<double> temperature{};  // °C, the last one
  };
  View Look() const;

 private:
  void Enter(std::string_view name);
  void Leave();
  // Looks at the temperature where it is time to.
  Status CheckTemperature(Time now);

  // Shared by both threads.
  struct State {
    bool stopped = false;
    View view{};
    Time entered{};  // the call
  };

  const Options options_;
  std::optional<Time> looked_;  // at the temperature; the check's own
  mutable Mutex mu_;            // a loop would not do: the check must not wait for one
  State state_ GALEN_GUARDED_BY(mu_);
};

}  // namespace galen::active
