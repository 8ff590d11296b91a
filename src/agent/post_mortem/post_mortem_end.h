// How a Pod ended, read off what the API says of it now and said before. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/post_mortem/post_mortem.h"
#include "kube/objects/pod.h"

namespace galen::agent {

// An end of a Pod, or a crash of a container of one that lives on.
struct PodEnding {
  history::PodEnd end = history::PodEnd::kFailed;
  std::string reason;  // of status.reason, else of a DisruptionTarget condition; or ""
  WallTime time{};     // of the end as the Pod shows it, else `now`
  bool operator==(const PodEnding&) const = default;
};

// nullopt while it lives and nothing of it crashed. `before` null: seen for the first time; what
// crashed from `away_since` on is news then, and nothing where that is not known. `after` null:
// gone from the API.
std::optional<PodEnding> EndingOf(const kube::Pod* before, const kube::Pod* after, WallTime now,
                                  std::optional<WallTime> away_since = {});

// The last end of each container that has one, init containers and sidecars first, as they ran.
std::vector<ContainerEnd> ContainerEndsOf(const kube::Pod& pod);

// Why the Pod went where somebody other than its containers decided it; "" when nobody did.
std::string ReasonOf(const kube::Pod& pod);

}  // namespace galen::agent
