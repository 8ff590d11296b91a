#include "probes/nvml/xid_merger.h"

#include <algorithm>
#include <string_view>

namespace galen::probes {
namespace {

// How many of one kind are kept within a window: a program in a loop of faults must not fill our
// memory.
constexpr std::size_t kSeenMax = 1024;

// The XID of NVLink that NVML reports without what its registers say. Those of NVLink 5 it does not
// pass on at all (NvmlProbe).
constexpr double kNvlinkXid = 74;

// Whether two parts may be the same one: only their GPU instances are compared, because one of the
// two sources may not know the compute instance.
bool MayBeOne(std::string_view a, std::string_view b) {
  return a.empty() || b.empty() || a.substr(0, a.find('/')) == b.substr(0, b.find('/'));
}

}  // namespace

void XidMerger::Take(const Inlet& by, std::vector<Sign> signs) {
  std::erase_if(signs, [&](const Sign& sign) { return IsLeftOut(by, sign) || Hold(by, sign); });
  if (!signs.empty()) sink_.OnSigns(std::move(signs));
}

bool XidMerger::Hold(const Inlet& by, const Sign& sign) {
  if (&by != &nvml_ || sign.name != "xid" || NumberOf(sign) != kNvlinkXid) return false;
  // NVML repeats nothing: what does not fit goes its way at once.
  if (held_.size() >= kSeenMax) return false;
  held_.push_back({sign, loop_.Now() + kHold});
  if (held_.size() == 1) let_go_ = loop_.After(kHold, [this] { LetGo(); });
  return true;
}

void XidMerger::LetGo() {
  std::vector<Sign> signs;
  while (!held_.empty() && held_.front().until <= loop_.Now()) {
    signs.push_back(std::move(held_.front().sign));
    held_.pop_front();
  }
  if (!held_.empty()) let_go_ = loop_.After(held_.front().until - loop_.Now(), [this] { LetGo(); });
  if (!signs.empty()) sink_.OnSigns(std::move(signs));
}

bool XidMerger::IsLeftOut(const Inlet& by, const Sign& sign) {
  if (sign.name == "xid") return IsSecond(by, sign);
  // The log's line, decoded: it counts, and what NVML brought before does not.
  if (sign.name.starts_with("nvlink-") && &by == &kernel_log_ && IsSecond(by, sign)) {
    const auto same = std::ranges::find_if(held_, [&](const Held& held) {
      return held.sign.device == sign.device && NumberOf(held.sign) == NumberOf(sign);
    });
    if (same != held_.end()) held_.erase(same);
  }
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
  const auto other = std::ranges::find_if(
      seen, [&](const Seen& each) { return each.by != &by && MayBeOne(each.part, sign.part); });
  if (other == seen.end()) {
    seen.push_back({&by, now, sign.part});
    return false;
  }
  seen.erase(other);
  return true;
}

}  // namespace galen::probes
