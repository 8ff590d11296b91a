// Between what the hardware shows and what the driver tells: keeps the rule engine, its state file
// and the timer for what changes by time alone (a debounce that ends). Belongs to its loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "galen/driver.h"
#include "probes/rule_engine.h"
#include "probes/sign.h"
#include "probes/state_file.h"

namespace galen::device_driver {

class HealthJudge final : public probes::SignSink {
 public:
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    probes::StateFile& state;
    const probes::RuleTable& rules;
  };

  // `on_change` asks for a round of Observe and Report, soon.
  HealthJudge(Parts parts, probes::RuleEngine::Options options, std::function<void()> on_change);

  // The devices there are. The first call brings back what an earlier process of this boot knew.
  void SetDevices(const std::vector<std::string>& names);
  void OnSigns(std::vector<probes::Sign> signs) override;
  void Observe(const StatusOr<std::vector<probes::Sign>>& observed);
  // Says of every device how it is.
  void Report(HealthWriter& writer) const;

 private:
  probes::Instant Present() const { return {parts_.loop.Now(), parts_.loop.WallNow()}; }
  void Take(const probes::Evaluation& evaluation);
  void WaitForTime();

  Parts parts_;
  probes::RuleEngine engine_;
  const std::function<void()> on_change_;
  bool restored_ = false;
  Timer timer_;
};

}  // namespace galen::device_driver
