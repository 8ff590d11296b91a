#include "rpc/newest_stream.h"

#include <utility>

namespace galen::rpc {

NewestStream::NewestStream(std::unique_ptr<StreamWriter> writer, std::function<void()> on_gone)
    : writer_(std::move(writer)) {
  writer_->OnDrained([this] { SendWaiting(); });
  writer_->OnGone(std::move(on_gone));
}

void NewestStream::Send(std::string snapshot) {
  // Also when the reader has made room and the notice of it is still to come: left there, the older
  // snapshot would be sent after this one.
  if (std::exchange(waiting_, std::nullopt)) ++merged_;
  if (writer_->drained()) return writer_->Write(std::move(snapshot));
  waiting_ = std::move(snapshot);
}

void NewestStream::Finish(const Status& status) {
  SendWaiting();
  writer_->Finish(status);
}

void NewestStream::SendWaiting() {
  if (!waiting_) return;
  writer_->Write(*std::move(waiting_));
  waiting_.reset();
}

}  // namespace galen::rpc
