// What containers get with devices that no claim holds, and the CDI file that says so to container
// runtimes: one file of the driver, with a device for each of those that it offers. Belongs to its
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

// The file is written whole or not at all, readable by everybody, and stays when the driver ends: a
// container that starts again in a Pod that runs needs it, and no kubelet asks anew for that. The
// usual CDI directory is emptied by a reboot.
class PluginDeviceEdits {
 public:
  // The author's handler; may be empty, then containers get nothing.
  using Ask = std::function<DeviceEdits(const std::string& device)>;

  // What is lent outlives it.
  PluginDeviceEdits(FileSystem& files, Log& log, std::string cdi_root, std::string driver, Ask ask);

  // The devices that there are from now on: asks about each, and writes the file. A device that
  // cannot be had now keeps what it had, also in the file of the process before; that is logged,
  // and Unavailable, so that somebody asks again. Other errors are those of the disk.
  Status SetDevices(const std::vector<std::string>& devices);
  // Asks about each of `devices` anew, writes the file where something changed, and gives the CDI
  // names by which a container gets them; a device that brings nothing has none. Unavailable is the
  // author's Failure, InvalidArgument edits that a runtime would refuse; other errors are those of
  // the disk. Then nothing was given.
  StatusOr<std::vector<std::string>> NamesFor(const std::vector<std::string>& devices);

  const std::string& path() const { return path_; }

 private:
  StatusOr<CdiEdits> AskFor(const std::string& device) const;
  // What the file of the process before has of devices that nobody answered for yet.
  void TakeFormer();
  Status Write();

  FileSystem& files_;
  Log& log_;
  const std::string cdi_root_;
  const std::string driver_;
  const std::string path_;
  const Ask ask_;
  std::map<std::string, CdiEdits> edits_;  // none of them empty: runtimes refuse such a file
  std::map<std::string, Json> former_;     // as the file has them
  std::map<std::string, std::string> complaints_;  // by device, what the log said last
  bool former_taken_ = false;
};

}  // namespace galen::sdk
