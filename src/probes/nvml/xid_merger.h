// Merges the XIDs of NVML's events and of the kernel's log: one that comes by both counts once.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/loop/loop.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// Passes on the signs of two sources; an XID that both bring counts once, by the first. Two from
// one source are two: a GPU may have the same fault again within a second. What a GPU asks for
// counts by NVML alone where NVML says it, because only NVML takes it back. An XID 74 of NVML waits
// a moment for the log's line, which alone says what it means (nvlink-hardware, …). Belongs to its
// loop.
class XidMerger {
 public:
  // How far apart the two sources may be. The kernel module logs and notifies within milliseconds;
  // a log that is read after a restart is older, and NVML does not repeat what was before.
  static constexpr Duration kWindow = std::chrono::seconds(5);
  // How long such an XID waits for the log's line. Without a log each comes that much later.
  static constexpr Duration kHold = std::chrono::seconds(1);

  // Lent; they outlive the merger.
  XidMerger(Loop& loop, SignSink& sink) : loop_(loop), sink_(sink) {}

  SignSink& nvml() { return nvml_; }
  SignSink& kernel_log() { return kernel_log_; }

 private:
  // Where one of the two sources puts its signs.
  class Inlet final : public SignSink {
   public:
    explicit Inlet(XidMerger& merger) : merger_(merger) {}
    void OnSigns(std::vector<Sign> signs) override { merger_.Take(*this, std::move(signs)); }

   private:
    XidMerger& merger_;
  };
  struct Seen {
    const Inlet* by;
    Time at;
    std::string part;  // of a GPU in MIG instances
  };

  struct Held {
    Sign sign;
    Time until;
  };

  void Take(const Inlet& by, std::vector<Sign> signs);
  // Whether it waits for the log's line.
  bool Hold(const Inlet& by, const Sign& sign);
  // Passes on what has waited long enough.
  void LetGo();
  // Whether another sign, before or after it, counts in its place.
  bool IsLeftOut(const Inlet& by, const Sign& sign);
  // Whether the other source brought it before; that one then covers no other.
  bool IsSecond(const Inlet& by, const Sign& sign);

  Loop& loop_;
  SignSink& sink_;
  Inlet nvml_{*this}, kernel_log_{*this};
  // By device and number; what is older than the window goes when the next of its kind comes.
  std::map<std::pair<std::string, double>, std::deque<Seen>> seen_;
  std::set<std::string> says_recovery_;  // devices whose recovery action NVML reports
  std::deque<Held> held_;                // in the order in which they came
  Timer let_go_;
};

}  // namespace galen::probes
