// Sends snapshots on one stream so that the newest always arrives and a slow reader holds at most
// one unsent: a snapshot that was not sent yet is replaced by the next. For streams whose every
// message is a whole picture, such as a driver's health report; never for changes. Belongs to its
// loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rpc/service.h"

namespace galen::rpc {

class NewestStream {
 public:
  // Owns `writer`. `on_gone` runs once, from the loop, when the reader left; it may destroy this.
  // Destroying it without Finish ends the stream with Unavailable.
  NewestStream(std::unique_ptr<StreamWriter> writer, std::function<void()> on_gone);

  // Sends now when the reader has taken what came before, else as soon as it has. REQUIRES: not
  // finished.
  void Send(std::string snapshot);
  // Sends what waits, then ends the stream with `status`. Once.
  void Finish(const Status& status);
  // How many snapshots were replaced before they could be sent.
  std::size_t merged() const { return merged_; }

 private:
  void SendWaiting();

  std::unique_ptr<StreamWriter> writer_;
  // The newest snapshot that the reader has not made room for.
  std::optional<std::string> waiting_;
  std::size_t merged_ = 0;
};

}  // namespace galen::rpc
