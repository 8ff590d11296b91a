// /dev/kmsg, opened for reading without waiting. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/io_loop.h"
#include "probes/kernel_log.h"

namespace galen::probes {

class DevKmsg final : public KernelLogSource {
 public:
  // From the first record that the kernel still has. PermissionDenied says what is missing.
  static StatusOr<std::unique_ptr<DevKmsg>> Open(IoLoop& loop, const std::string& path);

  StatusOr<std::optional<std::string>> Next() override;
  void OnReadable(std::function<void()> callback) override;

 private:
  DevKmsg(IoLoop& loop, Fd fd) : loop_(loop), fd_(std::move(fd)) {}

  IoLoop& loop_;
  Fd fd_;
  FdWatch watch_;  // after the descriptor it watches
  bool dead_ = false;
};

}  // namespace galen::probes
