// What the reports of all drivers together may take of the agent: bytes of long reports that are
// under way, and a share of its thread. Belongs to the agent's loop; outlives the links it serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "base/time.h"
#include "base/token_bucket.h"
#include "model/device.h"

namespace galen::agent {

// A report within half of its stream's window needs no room: the window bounds it. A longer one is
// admitted whole or waits its turn, so that two that are half here never wait for each other.
class ReportRoom {
 public:
  // What a driver may have under way that was not read. HTTP/2's own first window (RFC 9113,
  // section 6.9.2), and about 800 devices with a sentence each.
  static constexpr std::uint32_t kStreamWindowBytes = 64 * 1024;
  // Bytes of all long reports together: two of the longest that gRPC takes (4 MiB). At the limit
  // the next one waits at its driver, in the order of asking.
  static constexpr std::size_t kLongBytesMax = std::size_t{8} << 20;

  // A step of work is one device that changed: journal, metrics and Pods. What else a report costs
  // is counted in such steps. Their number a second for all drivers together: at 4,000 a neighbour
  // of a flood was published three times as late as without one, as its changes waited for the
  // writes of the journal (galen-bench flood), and a person reads no thousand.
  static constexpr std::int64_t kStepsPerSecond = 1'000;
  // What all drivers together may do at one stroke before the pace holds: each device that a node
  // may have goes once through each of the four states, as at the loss and the return of a whole
  // node's hardware.
  static constexpr std::int64_t kStepsAtOnce = std::int64_t{4} * kNodeDevicesMax;

  ReportRoom() = default;
  ReportRoom(const ReportRoom&) = delete;

  // One link more, one less. Each has an equal part of the pace.
  void Join() { ++links_; }
  void Leave(const void* link);

  // Asks for room for a long report of `link`; `admitted` is called once there is, perhaps now. One
  // at a time a link.
  void Ask(const void* link, std::size_t bytes, std::function<void()> admitted);
  // The report was read, or will not come. Nothing if there was none.
  void GiveBack(const void* link);

  // What so many steps of one link cost it in tokens of its bucket.
  std::int64_t CostOf(std::int64_t steps) const { return steps * links_; }
  static TokenBucket MakeBucket() {
    return {kStepsAtOnce, Duration(std::chrono::seconds(1)) / kStepsPerSecond};
  }

  // Admitted and not given back.
  std::size_t long_bytes() const { return long_bytes_; }

 private:
  struct Asked {
    const void* link = nullptr;
    std::size_t bytes = 0;
    std::function<void()> admitted;
  };

  void Admit();

  std::int64_t links_ = 0;
  std::deque<Asked> waiting_;
  std::map<const void*, std::size_t> held_;
  std::size_t long_bytes_ = 0;
};

}  // namespace galen::agent
