// Checks whether data that one device sends arrives at another: each sends to each, and the ends
// vote on who is to blame for what arrives wrong.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "active/check_watch.h"
#include "active/compute_device.h"
#include "active/device_check.h"

namespace galen::active {

inline constexpr std::string_view kLinkWrong = "LinkTransferMismatch";
// Bounded, because every set of ends is tried as an explanation.
inline constexpr std::size_t kLinkEndsMax = 16;

// Two ends by their places, the lesser first.
using EndPair = std::pair<std::size_t, std::size_t>;

// The fewest ends that explain every wrong pair, when there is one such set alone and it is no more
// than half of all; otherwise nobody can be named, and this is empty. So one pair alone among
// however many names none: it may be either end, or the link between. REQUIRES: at most
// kLinkEndsMax ends.
std::vector<std::size_t> BadEnds(std::size_t ends, const std::vector<EndPair>& wrong);

// A device at one end of links.
struct LinkEnd {
  std::string name{};  // "gpu-0"
  ComputeDevice* device = nullptr;
};

// The outcome over all links, and the ends that are blamed.
struct LinkOutcome {
  CheckOutcome outcome{};
  std::vector<std::size_t> bad{};  // named ends
};

// Transfers of `bytes` between all of `ends`, 2 to kLinkEndsMax of one kind, in both directions,
// until the watch's time is over. As RunDeviceCheck otherwise: one round at least for Passed.
// Seed and rounds_max of `options` count.
LinkOutcome RunLinkCheck(const std::vector<LinkEnd>& ends, std::uint64_t bytes,
                         const DeviceCheckOptions& options, CheckWatch& watch);

}  // namespace galen::active
