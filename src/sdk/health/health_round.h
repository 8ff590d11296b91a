// What the driver's author said of the devices in one round: the pen he is given, and the page for
// the Judge. A value; made for one call of `report` and read right after it. Takes names as they
// come: which of them are devices, the reader decides.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "galen/driver.h"
#include "model/health.h"

namespace galen::sdk {

class HealthRound final : public HealthWriter {
 public:
  // The latest report on one device. `share` is as the author gave it, in bounds or not.
  struct Word {
    HealthState state = HealthState::kUnknown;
    double share = 1;
    HealthCause cause;
  };

  using HealthWriter::Healthy;
  void Healthy(std::string_view device, HealthCause note) override;
  void Unhealthy(std::string_view device, HealthCause cause) override;
  void Degraded(std::string_view device, double share, HealthCause cause) override;
  void Unknown(std::string_view device, HealthCause cause) override;
  void Timeout(std::string_view device, std::chrono::seconds timeout) override;

  // nullptr: nothing was reported.
  const Word* Find(std::string_view device) const;
  // nullopt: none was said. Not bounded yet.
  std::optional<Duration> TimeoutOf(std::string_view device) const;
  const std::map<std::string, Word, std::less<>>& words() const { return words_; }

 private:
  void Say(std::string_view device, Word word);

  std::map<std::string, Word, std::less<>> words_;  // at most kDevicesMax
  std::map<std::string, Duration, std::less<>> timeouts_;
};

}  // namespace galen::sdk
