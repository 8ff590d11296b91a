// The real directory of registration sockets: inotify for the hint, lstat for the truth. Belongs to
// the agent's loop, which it borrows; calls block shortly.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/drivers/socket_directory.h"
#include "base/files/directory_watch.h"
#include "base/loop/io_loop.h"

namespace galen::agent {

class PosixSocketDirectory final : public SocketDirectory {
 public:
  // Deeper and fuller than any registry; what lies beyond is not looked at.
  static constexpr int kDepthMax = 8;
  static constexpr std::size_t kEntriesMax = 4096;

  // `trusted`: only sockets of this user and of root count as sockets, those of others as kForeign.
  // nullopt: any owner counts, for a directory whose maker decides who may write to it, such as the
  // kubelet's.
  PosixSocketDirectory(IoLoop& loop, std::string directory,
                       std::optional<unsigned> trusted = std::nullopt)
      : loop_(loop), directory_(std::move(directory)), trusted_(trusted) {}

  Status Watch(std::function<void()> on_change) override;
  StatusOr<std::vector<DirectoryEntry>> Scan() override;
  StatusOr<std::string> RealPath(const std::string& path) override;

 private:
  IoLoop& loop_;
  const std::string directory_;
  const std::optional<unsigned> trusted_;
  std::unique_ptr<DirectoryWatch> watch_;
};

}  // namespace galen::agent
