// What a driver's probes must know after a restart, in one small file: which records of the
// kernel's log were dealt with, and the findings that came of them. Both are written at once, so
// that a crash between them neither loses an event nor counts it twice. Another boot starts fresh:
// the log does, and the hardware was reset. Belongs to its loop.
#pragma once

#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/json.h"
#include "base/log.h"

namespace galen::probes {

class StateFile {
 public:
  // Files and log are lent. `boot_id` is the kernel's, of this boot.
  StateFile(FileSystem& files, Log& log, std::string path, std::string boot_id);

  // Reads what there is. A file of another boot counts as none; a broken one is put aside.
  void Load();
  const Json& Get(std::string_view section) const { return sections_[section]; }
  void Set(std::string_view section, Json value);
  // Writes if something changed. A full disk is told once and tried again at the next change.
  Status Flush();

 private:
  FileSystem& files_;
  Log& log_;
  const std::string path_;
  const std::string boot_id_;
  Json sections_{Json::Object()};
  bool dirty_ = false;
  bool failing_ = false;
};

// The kernel's name for this boot.
StatusOr<std::string> ReadBootId(FileSystem& files);

}  // namespace galen::probes
