#include "agent/post_mortem/container_crash.h"

#include <string>

#include "history/post_mortem/post_mortem_text.h"

namespace galen::agent {
namespace {

// As post-mortems word it. Why it waits now ("CrashLoopBackOff") is no news of how it ended.
std::string CrashText(const kube::ContainerStatus& status) {
  return history::TextOf({.container = status.name,
                          .exit_code = status.exit_code,
                          .signal = status.signal,
                          .reason = status.end_reason});
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
