// The state of a driver's probes that outlives a restart, in one small file: which records of the
// kernel's log were dealt with, and the findings that came of them. Both are written at once, so
// that a crash between them neither loses an event nor counts it twice. Another boot starts fresh:
// the log does, and the hardware was reset. Belongs to its loop, which never waits for the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/files/disk_queue.h"
#include "base/files/file_system.h"
#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/loop.h"

namespace galen::probes {

// Written beside the loop: one write under way, and the newest text waits for its end.
class StateFile {
 public:
  // So long who asks waits for the disk, as the agent does for its journal. A disk that is well
  // syncs in far less, and a person sees no difference.
  static constexpr Duration kDiskPatience = std::chrono::milliseconds(250);

  // Lent; they outlive the file, and the file system its queue.
  struct Parts {
    Loop& loop;
    Log& log;
    FileSystem& files;
  };
  // Called once, on the loop, perhaps inside Flush: what was set by then is on the disk; or false:
  // the disk hangs or fails, and it is written when that is over.
  using Kept = std::function<void(bool on_disk)>;

  // `queue` is where it is written. `boot_id`: see ReadBootId.
  StateFile(Parts parts, std::unique_ptr<DiskQueue> queue, std::string path, std::string boot_id);

  // Once, before Get and before anything is served, since it waits for the disk. No file, or one of
  // another boot, counts as none; one that cannot be read or understood is renamed to "*.broken",
  // reported in the log, and counts as none.
  void Load();
  // Null when there is no such section.
  const Json& Get(std::string_view section) const { return sections_[section]; }
  // Keeps the value in memory for the next Flush; setting the same again changes nothing.
  void Set(std::string_view section, Json value);
  // Writes all sections at once, if one changed since the last write that went well. An error is
  // reported once in the log, and the next Flush tries again. While the disk is known to hang,
  // `kept` is called at once. It may be null: nobody waits.
  void Flush(Kept kept = nullptr);
  // Before the process ends, instead of all other calls: what is not on the disk is written, after
  // what is being written. It waits for that as long as the queue's end does.
  void Finish();
  // Why what was set is not on the disk; "" when nothing hinders it.
  const std::string& trouble() const { return trouble_; }

 private:
  std::string Text() const;
  // Writes what there is now, unless that is on the disk.
  void Begin();
  void End(const Status& status);
  void EndPatience();
  void Note(const Status& status);
  static void Answer(std::vector<Kept> waiting, bool on_disk);

  const Parts parts_;
  const std::string path_;
  const std::string boot_id_;
  // By the name of the part that keeps something; each part knows its own form.
  Json sections_{Json::Object()};
  bool dirty_ = false;                 // what is set is neither on the disk nor on its way
  bool busy_ = false;                  // a write is under way
  bool hangs_ = false;                 // likewise, for longer than kDiskPatience
  std::vector<Kept> writing_, asked_;  // who waits for the write under way, and for the one after
  Time asked_since_{};
  std::string trouble_;  // as the log has it
  Timer patience_;
  std::unique_ptr<DiskQueue> queue_;
  Liveness liveness_;
};

}  // namespace galen::probes
