// Tested by plugin_manager_test.cc, among all that count: an undeclared metric ends the process.
#include "agent/agent_metrics.h"

#include <utility>

namespace galen::agent::metric {

void Declare(Metrics& metrics) {
  metrics.DeclareGauge(kBuildInfo, "1; the labels are version, node and role.");
  metrics.DeclareGauge(kDeviceState, "1 for the present state of a device.");
  metrics.DeclareCounter(kStateChanges, "Changes of a device's finding, by driver and new state.");
  metrics.DeclareCounter(kReports, "Health reports, by driver and result.");
  metrics.DeclareCounter(kReportWaits,
                         "Reports after which their driver was held back, by driver.");
  metrics.DeclareCounter(kDevicesLeftOut, "Devices in reports for which there was no room.");
  metrics.DeclareGauge(kLongestStep, "The longest that the loop was in one task since the start.");
  metrics.DeclareCounter(kLongSteps, "Tasks in which the loop was for longer than 20 ms.");
  metrics.DeclareGauge(kReportAge, "Seconds since a driver's authority last reported.");
  metrics.DeclareHistogram(
      kPublishSeconds, "From the sign of a change to the Pod showing it.",
      // Fine buckets for a healthy node (milliseconds), coarse ones for an outage.
      {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60});
  metrics.DeclareCounter(kApiWrites, "Writes to the API server, by kind and result.");
  metrics.DeclareGauge(kJournalBytes, "Size of the journal on disk.");
  metrics.DeclareCounter(kJournalErrors, "Writes of the journal that failed or took too long.");
  metrics.DeclareCounter(
      kPublishedLate, "Changes published before the journal had them, as the disk hung or failed.");
  metrics.DeclareCounter(kContainerOutputLost,
                         "Bytes of containers' output that are in no log, as the disk hung or "
                         "failed.");
  metrics.DeclareCounter(kPodResourcesLists,
                         "Questions to the kubelet which devices its Pods have, by result.");
  metrics.DeclareGauge(kPodResourcesDifferences,
                       "Pods of which kubelet and API name different devices of claims.");
}

void ShowAges(Metrics& metrics, const std::map<std::string, Duration>& ages,
              std::set<std::string>& shown) {
  for (const std::string& driver : std::exchange(shown, {}))
    metrics.Remove(kReportAge, {{"driver", driver}});
  for (const auto& [driver, age] : ages) {
    metrics.Set(kReportAge, {{"driver", driver}}, std::chrono::duration<double>(age).count());
    shown.insert(driver);
  }
}

}  // namespace galen::agent::metric
