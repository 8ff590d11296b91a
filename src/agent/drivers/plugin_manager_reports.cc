// How reports are read: a short one at once, a long one in parts.
#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "agent/drivers/plugin_manager.h"

namespace galen::agent {

void PluginManager::OnLinkReport(const DriverLink& link, std::string_view report) {
  Instance& instance = InstanceOf(link);
  const std::string& driver = link.facts().driver;
  NoteWaits(link, instance);
  if (!IsAuthority(link)) {
    // Every instance is subscribed to, so that `galen get drivers` shows each one's reports; only
    // the authority's count.
    if (instance.reports == 0) Changed();
    instance.reported_wall = edges_.loop.WallNow();
    ++instance.reports;
    instance.trouble.clear();
    edges_.metrics.Add(metric::kReports, {{"driver", driver}, {"result", "standby"}});
    return instance.link->Read(1);
  }
  Reading reading{driver, link.number(), edges_.loop.Now(),
                  ReportReader(driver, report, edges_.loop.WallNow())};
  if (!reading.reader.Step(kDevicesPerStep)) {
    readings_.push_back(std::move(reading));
    return StepLater(Duration::zero());
  }
  reading.decoded = Accept(instance, reading.reader.Take());
  ApplyWhole(reading, instance);
}

void PluginManager::StepLater(Duration delay) {
  if (read_) return;
  read_ = edges_.loop.After(delay, [this] {
    read_.Cancel();
    StepFirstReading();
  });
}

// One report after another, so that only one is held decoded; short reports are taken in between.
void PluginManager::StepFirstReading() {
  if (readings_.empty()) return;
  if (!edges_.sink.HasRoom()) return StepLater(kRoomAgain);
  Reading& reading = readings_.front();
  Instance& instance = drivers_.at(reading.driver).instances.at(reading.number);
  // A newer instance has become the authority since: what this one says does not count any more.
  const bool counts = IsAuthority(*instance.link);
  if (!counts) {
    readings_.pop_front();
    instance.link->Read(1);
  } else if (!reading.decoded) {
    if (reading.reader.Step(kDevicesPerStep)) {
      reading.decoded = Accept(instance, reading.reader.Take());
      if (!reading.decoded && ApplyStep(reading, instance) == Progress::kDone) {
        readings_.pop_front();
      }
    }
  } else if (ApplyStep(reading, instance) == Progress::kDone) {
    readings_.pop_front();
  }
  if (!readings_.empty()) StepLater(Duration::zero());
}

PluginManager::Progress PluginManager::ApplyStep(Reading& reading, Instance& instance) {
  if (!reading.decoded) {
    instance.link->Read(1);
    return Progress::kDone;
  }
  ApplyPart(reading, instance);
  const std::size_t devices = reading.decoded->report.devices.size();
  if (reading.applied < devices) return Progress::kMore;
  instance.link->Read(
      static_cast<std::int64_t>(1 + reading.changes + devices / kDevicesReadPerStep));
  return Progress::kDone;
}

void PluginManager::ApplyWhole(Reading& reading, Instance& instance) {
  while (ApplyStep(reading, instance) == Progress::kMore) {
  }
}

void PluginManager::ApplyPart(Reading& reading, Instance& instance) {
  DecodedReport& whole = *reading.decoded;
  if (reading.applied == 0) {
    if (instance.reports == 0) Changed();
    instance.reported_wall = edges_.loop.WallNow();
    ++instance.reports;
    drivers_.at(reading.driver).reported = reading.reported;
  }
  const std::size_t end = std::min(whole.report.devices.size(), reading.applied + kDevicesPerStep);
  DecodedReport part{.report = {.driver = reading.driver, .devices = {}},
                     .facts = {},
                     .faults = {},
                     .lasting = whole.lasting,
                     .continues = reading.applied > 0};
  for (; reading.applied < end; ++reading.applied) {
    DeviceHealth& device = whole.report.devices[reading.applied];
    if (auto facts = whole.facts.extract(device.id)) part.facts.insert(std::move(facts));
    part.report.devices.push_back(std::move(device));
  }
  part.more = reading.applied < whole.report.devices.size();
  reading.changes += edges_.sink.OnReport(part, reading.reported);
}

void PluginManager::ForgetReading(std::uint64_t number) {
  std::erase_if(readings_, [&](const Reading& reading) { return reading.number == number; });
}

void PluginManager::NoteWaits(const DriverLink& link, Instance& instance) {
  const std::uint64_t more = link.waits() - std::exchange(instance.waits, link.waits());
  if (more == 0) return;
  const std::string& driver = link.facts().driver;
  edges_.metrics.Add(metric::kReportWaits, {{"driver", driver}}, static_cast<double>(more));
  if (!logged_.First("flood " + driver)) return;
  edges_.log.Warning(
      "a driver reports faster than its reports are read, it has to wait",
      {{"driver", driver}, {"changes_per_second_of_all_drivers", ReportRoom::kStepsPerSecond}});
}

std::optional<DecodedReport> PluginManager::Accept(Instance& instance,
                                                   StatusOr<DecodedReport> decoded) {
  const std::string& driver = instance.link->facts().driver;
  const bool faulty = decoded.ok() && decoded->faults.any();
  edges_.metrics.Add(metric::kReports, {{"driver", driver},
                                        {"result", !decoded.ok() ? "refused"
                                                   : faulty      ? "faulty"
                                                                 : "ok"}});
  if (!decoded.ok()) {
    instance.trouble = decoded.status().message();
    if (logged_.First("refused " + driver)) {
      edges_.log.Warning("health report refused",
                         {{"driver", driver}, {"error", decoded.status().message()}});
    }
    return std::nullopt;
  }
  instance.trouble = decoded->faults.example;
  if (faulty && logged_.First("faulty " + driver)) {
    const ReportFaults& faults = decoded->faults;
    edges_.log.Warning("health report has faults, the rest of it is taken",
                       {{"driver", driver},
                        {"first", faults.example},
                        {"invalid", faults.invalid},
                        {"repeated", faults.repeated},
                        {"over_limit", faults.over_limit},
                        {"broken", faults.broken},
                        {"negative_timeouts", faults.negative_timeouts},
                        {"cut", faults.cut}});
  }
  return *std::move(decoded);
}

}  // namespace galen::agent
