// The edits for containers that get devices by the device plugin, without a claim, and the CDI file
// with them: one file of the driver, with an entry for each device that it offers. Belongs to its
// loop; the calls block shortly.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/files/file_system.h"
#include "base/log.h"
#include "galen/driver.h"

namespace galen::sdk {

// The file is written atomically, readable by everybody, and stays when the driver ends: a
// container that restarts in a running Pod needs it, and the kubelet does not ask again for that.
// The usual CDI directory is emptied by a reboot.
class PluginDeviceEdits {
 public:
  // The author's handler; if it is empty, containers get no edits.
  using Ask = std::function<DeviceEdits(const std::string& device)>;

  // The arguments outlive it.
  PluginDeviceEdits(FileSystem& files, Log& log, std::string cdi_root, std::string driver, Ask ask);

  // Sets the devices: asks the author about each, and writes the file. A device whose handler fails
  // keeps its former edits, also those in the file of an earlier process; that is logged, and
  // returned as Unavailable, so that the caller tries again. Other errors are those of the disk.
  Status SetDevices(const std::vector<std::string>& devices);
  // Asks about each of `devices` anew, writes the file where something changed, and returns the CDI
  // names for a container; a device without edits has none. Unavailable is the author's Failure,
  // InvalidArgument means edits that a runtime would refuse; other errors are those of the disk.
  // After an error the container gets nothing.
  StatusOr<std::vector<std::string>> NamesFor(const std::vector<std::string>& devices);

  const std::string& path() const { return path_; }

 private:
  StatusOr<CdiEdits> AskFor(const std::string& device) const;
  // Reads the former process's file for devices whose handler has not answered yet.
  void TakeFormer();
  Status Write();

  FileSystem& files_;
  Log& log_;
  const std::string cdi_root_;
  const std::string driver_;
  const std::string path_;
  const Ask ask_;
  std::map<std::string, CdiEdits> edits_;  // none of them empty: runtimes refuse such a file
  std::map<std::string, Json> former_;     // as in the former process's file
  std::map<std::string, std::string> complaints_;  // by device, the last error that was logged
  bool former_taken_ = false;
};

}  // namespace galen::sdk
