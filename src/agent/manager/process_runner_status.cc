// Tested by process_runner_test.cc and process_runner_disk_test.cc.
// The runner's status of its Pods and of itself.
#include <fmt/core.h>

#include <algorithm>

#include "agent/manager/process_runner.h"
#include "agent/manager/run_status.h"
#include "base/text.h"

namespace galen::agent {

std::optional<Json> ProcessRunner::StatusOf(const PodRef& pod) const {
  const auto it = pods_.find(pod);
  if (it == pods_.end() || !it->second.life) return std::nullopt;
  return RunStatusOf(*it->second.plan, *it->second.life);
}

std::string ProcessRunner::trouble() const {
  const std::optional<Time> since = directories_.busy_since();
  const bool hangs = since && edges_.loop.Now() - *since > kDiskPatience;
  const auto failed = [&](const auto& item) {
    return !item.second.error.empty() || (hangs && item.second.plan && !item.second.life);
  };
  const auto first = std::ranges::find_if(pods_, failed);
  if (first == pods_.end()) return "";
  const auto count = std::ranges::count_if(pods_, failed);
  const std::string& error = first->second.error;
  std::string text =
      fmt::format("{} cannot be run: {}", ToString(first->first.key),
                  error.empty() ? "its directory waits for the disk, which hangs" : error);
  return count == 1 ? text
                    : text + fmt::format(", and {} more",
                                         Counted(static_cast<std::size_t>(count - 1), "Pod"));
}

bool ProcessRunner::idle() const {
  return std::ranges::all_of(pods_, [](const auto& item) {
    return std::ranges::all_of(item.second.boxes,
                               [](const Box& box) { return box.process == nullptr; });
  });
}

bool ProcessRunner::writes() const {
  return directories_.busy_since() || std::ranges::any_of(pods_, [](const auto& item) {
           return std::ranges::any_of(item.second.boxes,
                                      [](const Box& box) { return box.log->busy(); });
         });
}

}  // namespace galen::agent
