// Seen at work by ./dev bench burst and sustained: all of it asks real processes.
#include "bench/last_report.h"

#include <unistd.h>

#include <fstream>
#include <utility>

#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;

bool ShowsTheLast(const PodWatch::Line& line, const BurstReport& report) {
  // A healthy device has no sentence: an earlier Healthy looks the same as the last one.
  if (report.healthy) return line.device.health == "Healthy";
  return line.device.health == "Unhealthy" && line.device.message == SentenceOf(report);
}

}  // namespace

StatusOr<LastReports> ExpectedAfter(Rig& rig, std::int64_t changes, std::int64_t devices) {
  ASSIGN_OR_RETURN(const auto device_of, rig.DevicesOfPods());
  LastReports last{.changes = changes, .devices = devices};
  for (const auto& [pod, device] : device_of) {
    for (std::int64_t i = 0; i < devices; ++i) {
      if (device == DeviceName(i)) last.reports[pod] = ReportAfter(changes, i, devices);
    }
  }
  if (static_cast<std::int64_t>(last.reports.size()) == devices) return last;
  return NotFound("only {} Pods hold a device", last.reports.size());
}

int PodsRight(Rig& rig, const LastReports& last) {
  int right = 0;
  for (const auto& [pod, report] : last.reports) right += ShowsTheLast(rig.pods().Of(pod), report);
  return right;
}

StatusOr<int> DevicesRight(Rig& rig, const LastReports& last) {
  ASSIGN_OR_RETURN(const auto answer, rig.AskAgent<inspect::ListDevicesResponse>(
                                          "ListDevices", inspect::ListDevicesRequest()));
  std::map<std::string, std::string> known;  // state and value
  for (const inspect::Device& d : answer.devices()) {
    known[d.device()] = d.state() + d.cause().value();
  }
  int right = 0;
  for (std::int64_t device = 0; device < last.devices; ++device) {
    const BurstReport report = ReportAfter(last.changes, device, last.devices);
    const std::string wanted =
        report.healthy ? "Healthy" : fmt::format("Unhealthy{}", report.change);
    right += known[DeviceName(device)] == wanted;
  }
  return right;
}

Status AwaitPods(Rig& rig, const LastReports& last, Duration limit) {
  const Time end = rig.bench().loop.Now() + limit;
  // The condition holds at the limit too.
  return rig.Until("the Pods", limit + std::chrono::seconds(1), [&] {
    return PodsRight(rig, last) == static_cast<int>(last.reports.size()) ||
           rig.bench().loop.Now() >= end;
  });
}

OrderOnPods::OrderOnPods(Rig& rig, std::map<std::string, std::string> device_of,
                         std::int64_t changes, std::int64_t devices)
    : rig_(rig), device_of_(std::move(device_of)), order_(changes, devices) {
  rig_.pods().OnDevice([this](const std::string& pod, const kube::ResourceHealth& now) {
    const auto device = device_of_.find(pod);
    const auto state = ParseHealthState(now.health);
    if (device == device_of_.end() || !state) return;
    order_.Add(device->second, *state, ChangeIn(now.message));
  });
}

void LetBegin(const OwnDriver& driver) { std::ofstream(driver.start_file) << "go"; }

StatusOr<Duration> AwaitChanges(Rig& rig, const OwnDriver& driver, Duration limit) {
  RETURN_IF_ERROR(rig.Until("the driver to make its changes", limit,
                            [&] { return access(driver.result_file.c_str(), R_OK) == 0; }));
  std::int64_t nanos = 0;
  std::ifstream(driver.result_file) >> nanos;
  return Duration(nanos);
}

}  // namespace galen::bench
