// /dev/kmsg, opened for reading without waiting: the real source of a KernelLog. Belongs to its
// loop, which is lent.
// https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg says how the file behaves.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/loop/io_loop.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/kernel_log/kernel_record.h"

namespace galen::probes {

class DevKmsg final : public KernelLogSource {
 public:
  // From the first record that the kernel still has; records from before this process come again,
  // so the reader must know how far it is. A record longer than `record_bytes_max` is passed over.
  // PermissionDenied says what is missing; other errors are open(2)'s.
  static StatusOr<std::unique_ptr<DevKmsg>> Open(
      IoLoop& loop, const std::string& path, std::size_t record_bytes_max = kKernelRecordBytesMax);

  // One read(2) a record. DataLoss: the ring buffer went round, or a record was too long; the next
  // call gives the oldest record there is, or the one after. Any other error is the last: the file
  // is not watched any more.
  StatusOr<std::optional<std::string>> Next() override;
  void OnReadable(std::function<void()> callback) override;

 private:
  DevKmsg(IoLoop& loop, Fd fd, std::size_t record_bytes_max)
      : loop_(loop), fd_(std::move(fd)), buffer_(record_bytes_max, '\0') {}

  IoLoop& loop_;
  Fd fd_;
  FdWatch watch_;       // after the descriptor it watches
  std::string buffer_;  // one record
  int too_long_ = 0;    // records in a row
  bool dead_ = false;
};

}  // namespace galen::probes
