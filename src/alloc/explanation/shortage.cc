#include "alloc/explanation/shortage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "alloc/explanation/trial.h"

namespace galen::alloc {
namespace {

// How many devices failed which test of one request.
struct Refused {
  std::size_t devices = 0;  // of the node
  std::size_t all = 0;      // of them, those that failed one
  std::map<Reason, std::size_t> counts = {};
  std::set<std::string> taints = {};  // keys
};

// Most frequent first, so that the line begins with what matters.
std::string Listed(const Refused& refused) {
  std::vector<std::pair<std::size_t, std::string>> parts;
  for (const auto& [reason, count] : refused.counts) {
    std::string name(ToString(reason));
    if (reason == Reason::kTaint) {
      name += fmt::format(" ({})", fmt::join(refused.taints, ", "));
    }
    parts.emplace_back(count, std::move(name));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [count, name] : parts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  }
  return text;
}

Refused CountRefusals(const Allocator& allocator, const Inventory& inventory) {
  Refused refused{.devices = allocator.Reached().size()};
  for (const Allocator::Refusal& refusal : allocator.Refusals()) {
    ++refused.all;
    ++refused.counts[refusal.reason];
    if (refusal.reason != Reason::kTaint) continue;
    for (const DeviceTaint& taint : inventory.TaintsOf(refusal.entry)) {
      refused.taints.insert(taint.key);
    }
  }
  return refused;
}

std::string LineOf(const ResourceClaim& claim, const Slot& slot, const Refused& refused) {
  const std::string where = fmt::format("claim {}, request {}", claim.name, slot.name);
  if (refused.devices == 0) return where + ": the node has no devices";
  const std::string wanted =
      slot.all ? "all that match wanted" : fmt::format("{} wanted", slot.count);
  return fmt::format("{}: {}, {} of {} devices to be had ({})", where, wanted,
                     refused.devices - refused.all, refused.devices, Listed(refused));
}

// The line of one request, or of one entry of `firstAvailable`, alone; "" when it fits.
std::string AloneOn(const Node& node, const ResourceClaim& only, const NodeDevices& devices) {
  const std::vector<ResourceClaim> claims = {only};
  const Demand demand = PrepareDemand(claims, devices.classes, devices.inventory, devices.memo);
  Allocator allocator(devices.inventory, devices.usage, demand, devices.memo);
  if (allocator.Check(node) == Outcome::Verdict::kFits || demand.slots.empty()) return "";
  return LineOf(only, demand.slots.front(), CountRefusals(allocator, devices.inventory));
}

}  // namespace

std::string ShortageOf(const Node& node, const std::vector<ResourceClaim>& claims,
                       const NodeDevices& devices) {
  for (const ResourceClaim& claim : claims) {
    for (std::size_t request = 0; request < claim.requests.size(); ++request) {
      // A request with alternatives fails only where each of them does: the last one's line will
      // do.
      std::string line;
      for (std::size_t wish = 0; wish < claim.requests[request].wishes.size(); ++wish) {
        line = AloneOn(node, Only(claim, request, wish), devices);
        if (line.empty()) break;
      }
      if (!line.empty()) return line;
    }
  }
  return "its claims' requests cannot be met together";
}

}  // namespace galen::alloc
