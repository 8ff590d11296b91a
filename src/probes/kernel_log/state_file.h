// The state of a driver's probes that outlives a restart, in one small file: which records of the
// kernel's log were dealt with, and the findings that came of them. Both are written at once, so
// that a crash between them neither loses an event nor counts it twice. Another boot starts fresh:
// the log does, and the hardware was reset. Belongs to its loop.
#pragma once

#include <string>
#include <string_view>

#include "base/data/json.h"
#include "base/files/file_system.h"
#include "base/log.h"

namespace galen::probes {

class StateFile {
 public:
  // Files and log are lent. `boot_id`: see ReadBootId.
  StateFile(FileSystem& files, Log& log, std::string path, std::string boot_id);

  // Call it once, before Get. A file that is missing or of another boot counts as empty; one that
  // cannot be read or understood is renamed to "*.broken", reported in the log, and counts as
  // empty.
  void Load();
  // Null when there is no such section.
  const Json& Get(std::string_view section) const { return sections_[section]; }
  // Keeps the value in memory for the next Flush; setting the same again changes nothing.
  void Set(std::string_view section, Json value);
  // Writes all sections at once, if one changed since the last write that went well. The error is
  // the file system's: it is reported once in the log, and the next Flush tries again.
  Status Flush();

 private:
  FileSystem& files_;
  Log& log_;
  const std::string path_;
  const std::string boot_id_;
  // By the name of the part that keeps something; each part knows its own form.
  Json sections_{Json::Object()};
  bool dirty_ = false;
  bool failing_ = false;
};

}  // namespace galen::probes
