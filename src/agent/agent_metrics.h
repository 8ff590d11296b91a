// The agent's own metrics, in one list: names, help and buckets. Series are bounded by Metrics.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/time.h"

namespace galen::agent::metric {

// Names are a promise to dashboards (docs/guide/metrics.md): they are added to, not changed.
inline constexpr std::string_view kBuildInfo = "galen_build_info";
inline constexpr std::string_view kDeviceState = "galen_device_state";
inline constexpr std::string_view kStateChanges = "galen_device_state_changes_total";
inline constexpr std::string_view kReports = "galen_reports_total";
inline constexpr std::string_view kReportWaits = "galen_report_waits_total";
inline constexpr std::string_view kDevicesLeftOut = "galen_devices_left_out_total";
inline constexpr std::string_view kLongestStep = "galen_loop_longest_step_seconds";
inline constexpr std::string_view kLongSteps = "galen_loop_long_steps_total";
inline constexpr std::string_view kReportAge = "galen_report_age_seconds";
inline constexpr std::string_view kPublishSeconds = "galen_publish_seconds";
inline constexpr std::string_view kApiWrites = "galen_api_writes_total";
inline constexpr std::string_view kJournalBytes = "galen_journal_bytes";
inline constexpr std::string_view kPublishedLate = "galen_published_before_kept_total";
inline constexpr std::string_view kJournalErrors = "galen_journal_errors_total";
inline constexpr std::string_view kContainerOutputLost = "galen_container_output_lost_bytes_total";
inline constexpr std::string_view kPodResourcesLists = "galen_pod_resources_lists_total";
inline constexpr std::string_view kPodResourcesDifferences = "galen_pod_resources_differences";

// REQUIRES: once a registry, before anything is counted.
void Declare(Metrics& metrics);

// Shows how long ago each driver reported. The age goes on rising while a driver is away and ends
// with its registration. `shown` names the drivers whose age was shown last.
void ShowAges(Metrics& metrics, const std::map<std::string, Duration>& ages,
              std::set<std::string>& shown);

}  // namespace galen::agent::metric
