// The rules of a driver whose file may change while it runs: checks the file periodically, and
// applies a changed one if it has no fault. Otherwise the last good one stays in force.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/files/disk_queue.h"
#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "probes/rules/rule.h"

namespace galen::device_driver {

// Belongs to its loop. Signs and exporters are fixed while a driver runs: a file that changes them
// is not applied, and the reason is logged.
class RulesFile {
 public:
  // Often enough for a person who waits, seldom enough to cost nothing. Polling works on any file
  // system, also where a directory is swapped by a symbolic link, as for a ConfigMap.
  static constexpr Duration kLookEvery = std::chrono::seconds(5);

  // What it needs of the process.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    // The thread on which the file is read: it may be on a disk that hangs.
    std::unique_ptr<DiskQueue> queue;
  };
  // How to read the file, and whom to give its table.
  struct Calls {
    // Run on that thread, so they own all that they use: read the file's text, and parse it,
    // checked as at the driver's start.
    std::function<StatusOr<std::string>()> read;
    std::function<StatusOr<probes::RuleTable>(const std::string& text)> parse;
    // Judge by this table from now on; the one before may be destroyed when this returns. It stays
    // valid until the next call, or as long as the RulesFile.
    std::function<void(const probes::RuleTable&)> apply;
  };

  // `first` is the table in force: borrowed, it outlives this, as do the parts that use its signs.
  RulesFile(Parts parts, const probes::RuleTable& first, Calls calls);

  // Begins to check.
  void Start();
  // Why other rules are in force than the file has; "": they are the same.
  const std::string& fault() const { return last_fault_; }

 private:
  struct Reading;
  void Look();
  void OnRead(Reading reading);
  // OK: the table is in force now, or already was.
  Status Take(StatusOr<probes::RuleTable> table);
  void Note(const Status& status);

  Parts parts_;
  const probes::RuleTable& first_;
  const Calls calls_;
  // The table in force when it is not `first`.
  std::unique_ptr<const probes::RuleTable> present_;
  std::string last_text_;   // of the last check, valid or not
  Status last_result_;      // its outcome
  std::string last_fault_;  // that was logged; "": the file is in force
  Timer timer_;
  Liveness liveness_;
};

}  // namespace galen::device_driver
