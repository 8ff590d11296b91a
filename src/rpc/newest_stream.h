// Sends snapshots on one stream so that the newest always arrives and a slow reader holds at most
// one unsent: a snapshot that was not sent yet is replaced by the next. Belongs to its loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rpc/service.h"

namespace galen::rpc {

class NewestStream {
 public:
  // `on_gone` runs once when the reader left; it may destroy this.
  NewestStream(std::unique_ptr<StreamWriter> writer, std::function<void()> on_gone);

  void Send(std::string snapshot);
  void Finish(const Status& status);
  // How many snapshots were replaced before they could be sent.
  std::size_t merged() const { return merged_; }

 private:
  void SendWaiting();

  std::unique_ptr<StreamWriter> writer_;
  std::optional<std::string> waiting_;
  std::size_t merged_ = 0;
};

}  // namespace galen::rpc
