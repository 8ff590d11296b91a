#include "probes/nvml/xid_merger.h"

#include <algorithm>

namespace galen::probes {
namespace {

// How many of one kind are kept within a window: a program in a loop of faults must not fill our
// memory.
constexpr std::size_t kSeenMax = 1024;

}  // namespace

void XidMerger::Take(const Inlet& by, std::vector<Sign> signs) {
  std::erase_if(signs, [&](const Sign& sign) { return IsLeftOut(by, sign); });
  if (!signs.empty()) sink_.OnSigns(std::move(signs));
}

bool XidMerger::IsLeftOut(const Inlet& by, const Sign& sign) {
  if (sign.name == "xid") return IsSecond(by, sign);
  if (sign.name != "recovery-action") return false;
  if (&by == &kernel_log_) return says_recovery_.contains(sign.device);
  says_recovery_.insert(sign.device);
  return false;
}

bool XidMerger::IsSecond(const Inlet& by, const Sign& sign) {
  std::deque<Seen>& seen = seen_[{sign.device, NumberOf(sign).value_or(0)}];
  const Time now = loop_.Now();
  while (!seen.empty() && (now - seen.front().at > kWindow || seen.size() >= kSeenMax)) {
    seen.pop_front();
  }
  const auto other = std::ranges::find_if(seen, [&by](const Seen& each) { return each.by != &by; });
  if (other == seen.end()) {
    seen.push_back({&by, now});
    return false;
  }
  seen.erase(other);
  return true;
}

}  // namespace galen::probes
