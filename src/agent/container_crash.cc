#include "agent/container_crash.h"

#include <fmt/core.h>

#include <string>

namespace galen::agent {
namespace {

std::string CrashText(const kube::ContainerStatus& status) {
  std::string text = fmt::format("container {}", status.name);
  if (status.exit_code) text += fmt::format(", exit {}", *status.exit_code);
  if (status.signal) text += fmt::format(", signal {}", *status.signal);
  if (!status.reason.empty()) text += fmt::format(" ({})", status.reason);
  return text;
}

// nullptr for a container that had no status yet.
const kube::ContainerStatus* FindStatus(const kube::Pod& pod, const std::string& container) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    if (status.name == container) return &status;
  }
  return nullptr;
}

}  // namespace

std::vector<Crash> NewCrashes(const kube::Pod* before, const kube::Pod& after) {
  std::vector<Crash> crashes;
  if (before == nullptr) return crashes;
  for (const kube::ContainerStatus& status : after.statuses) {
    const kube::ContainerStatus* earlier = FindStatus(*before, status.name);
    const bool is_new =
        status.finished && (earlier == nullptr || earlier->finished != status.finished);
    if (!is_new || status.exit_code.value_or(0) == 0) continue;
    crashes.push_back({after.ref(), CrashText(status), *status.finished});
  }
  return crashes;
}

}  // namespace galen::agent
