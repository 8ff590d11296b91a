// The recent findings of each device, for the record of a Pod that ends: it begins some time before
// the end. Filled by changes as they come and, after a restart, from the journal. Belongs to the
// agent's loop. Bounded: a device that flaps loses its oldest findings; with too many devices, the
// one that was reported longest ago is dropped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "history/post_mortem/post_mortem.h"
#include "history/store/store.h"

namespace galen::agent {

class RecentFindings {
 public:
  // The most findings of all devices together.
  static constexpr std::size_t kFindingsMax = 8192;
  static constexpr std::size_t kPerDeviceMax = history::kMortemFindingsMax;

  // Reads the journal, oldest record first; once, before the first change. Returns the time of the
  // newest record of any kind; the epoch when there is none.
  WallTime Restore(const history::Store& journal);
  void Add(const HealthChange& change, WallTime reported);
  // The device has left; a later one of the same name is another device.
  void Forget(const DeviceId& device);
  std::size_t size() const { return size_; }

  // The finding in force at `from`, then each that was in force or was reported up to `until`, in
  // the order in which they were reported. `present` stands for a device that did not change;
  // before its only report it was Unknown.
  std::vector<history::ReceivedFinding> Of(const DeviceHealth& present, WallTime from,
                                           WallTime until) const;
  // The worst state among those.
  HealthState WorstOf(const DeviceHealth& present, WallTime from, WallTime until) const;
  // How the device was when a Pod ended at `end`, as far as is known at `now`: as it was reported
  // then, or a worse fault that happened until then and was reported later. NotReportedHealth where
  // nothing is known of that time.
  DeviceHealth AtEnd(const DeviceHealth& present, WallTime end, WallTime now) const;

 private:
  // One device; most have one finding.
  struct Story {
    // What the first finding replaced; null: nobody had reported the device.
    std::unique_ptr<DeviceHealth> before;
    std::vector<history::ReceivedFinding> findings;  // oldest first
    std::uint64_t turn = 0;                          // of the newest
  };

  static void Begin(Story& story, const DeviceHealth& before);
  static DeviceHealth BeforeOf(const Story& story);

  std::map<DeviceId, Story> stories_;
  std::map<std::uint64_t, const DeviceId*> by_turn_;  // keys of stories_
  std::uint64_t turns_ = 0;
  std::size_t size_ = 0;  // of all stories
};

// Whether a finding belongs to the window: its sign or its arrival lies in it. A fault that
// happened in it counts however late it is reported; one that is reported in it may have caused the
// end.
bool IsWithin(const history::ReceivedFinding& finding, WallTime from, WallTime until);

}  // namespace galen::agent
