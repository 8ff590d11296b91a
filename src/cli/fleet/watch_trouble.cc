#include <fmt/core.h>

#include <algorithm>

#include "cli/fleet/live_fleet.h"

namespace galen::cli {
namespace {

// Longer than a watcher waits, so that it has tried again before this asks.
constexpr Duration kLookAfter = WatchTrouble::kTriesAgainWithin * 3 / 2;

// Without the watcher's own step if the connection failed: then all kinds have the same error.
std::string Sentence(const Status& status) {
  const std::string& said = status.message();
  const bool about_kind = said.starts_with("list ") || said.starts_with("watch ");
  if (!about_kind || status.code() != Code::kUnavailable) return said;
  return said.substr(said.find(": ") + 2);
}

}  // namespace

void WatchTrouble::Report(const kube::Resource& resource, const std::string& ns,
                          const Status& status) {
  Lost& lost = lost_[resource];
  const bool first = !lost.since;
  if (first) lost.since = loop_.WallNow();
  lost.lasts = lost.lasts || !first || !IsRetryable(status);
  lost.ns = ns;
  lost.status = status;
  LookLater(resource);
  if (lost.lasts) on_change_();
}

void WatchTrouble::LookLater(const kube::Resource& resource) {
  Lost& lost = lost_.at(resource);
  lost.question.reset();
  lost.look = loop_.After(kLookAfter, [this, resource] { Look(resource); });
}

void WatchTrouble::Look(const kube::Resource& resource) {
  Lost& lost = lost_.at(resource);
  const kube::ListOptions one{.selectors = {}, .limit = 1, .resume = "", .resource_version = ""};
  lost.question =
      client_.Do(kube::List(resource, lost.ns, one), [this, resource](const StatusOr<Json>& reply) {
        // From the loop: the running call is destroyed with its entry.
        lost_.at(resource).look = loop_.After(Duration::zero(), [this, resource, ok = reply.ok()] {
          ok ? Forget(resource) : LookLater(resource);
        });
      });
}

void WatchTrouble::Forget(kube::Resource resource) {
  const bool lasted = lost_.at(resource).lasts;
  lost_.erase(resource);
  if (lasted) on_change_();
}

std::vector<const WatchTrouble::Lost*> WatchTrouble::Lasting() const {
  std::vector<const Lost*> lasting;
  for (const auto& [resource, lost] : lost_) {
    if (lost.lasts) lasting.push_back(&lost);
  }
  return lasting;
}

std::vector<std::string> WatchTrouble::Lines() const {
  std::vector<std::string> lines;
  for (const Lost* lost : Lasting()) {
    const std::string line = fmt::format(
        "not live since {}: {}", FormatRfc3339(*since()).substr(11, 8), Sentence(lost->status));
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return lines;
}

std::optional<WallTime> WatchTrouble::since() const {
  std::optional<WallTime> first;
  for (const Lost* lost : Lasting()) first = first ? std::min(first, lost->since) : lost->since;
  return first;
}

}  // namespace galen::cli
