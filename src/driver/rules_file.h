// The rules of a driver whose file may change while it runs: looks at the file from time to time,
// and puts a changed one in force where it has no fault. Otherwise the last good one stays.
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

// Belongs to its loop. What is read and how often does not change while a driver runs: a file whose
// signs or exporters are others is not put in force, and says so.
class RulesFile {
 public:
  // Soon enough for whoever waits for it, seldom enough to cost nothing. A look works on any file
  // system, also where a directory is swapped by a symbolic link, as a ConfigMap's is.
  static constexpr Duration kLookEvery = std::chrono::seconds(5);

  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    // The thread on which the file is read: it may be on a disk that hangs.
    std::unique_ptr<DiskQueue> queue;
  };
  struct Calls {
    // Run on that thread, so they own all that they touch: the file's text, and the table that it
    // says, checked as at the driver's start.
    std::function<StatusOr<std::string>()> read;
    std::function<StatusOr<probes::RuleTable>(const std::string& text)> parse;
    // Judge by this table from now on; the one before may be gone when it returns. It holds until
    // the next call, or as long as the RulesFile.
    std::function<void(const probes::RuleTable&)> apply;
  };

  // `first` is what is in force: lent, it outlives this, as all that borrows its signs does.
  RulesFile(Parts parts, const probes::RuleTable& first, Calls calls);

  // Begins to look.
  void Start();
  // Why other rules are in force than the file says; "": they are the same.
  const std::string& fault() const { return last_fault_; }

 private:
  struct Reading;
  void Look();
  void OnRead(Reading reading);
  // OK: it is in force now, or was already.
  Status Take(StatusOr<probes::RuleTable> table);
  void Note(const Status& status);

  Parts parts_;
  const probes::RuleTable& first_;
  const Calls calls_;
  // What is in force when it is not `first`.
  std::unique_ptr<const probes::RuleTable> present_;
  std::string last_text_;   // that was looked at, good or not
  Status last_result_;      // what came of it
  std::string last_fault_;  // that was logged; "": the file is in force
  Timer timer_;
  Liveness liveness_;
};

}  // namespace galen::device_driver
