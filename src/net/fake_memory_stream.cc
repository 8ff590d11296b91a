#include "net/fake_memory_stream.h"

#include <algorithm>
#include <utility>

namespace galen::net {

MemoryStream::Pair MemoryStream::Make(Loop& loop) {
  Pair pair{std::unique_ptr<MemoryStream>(new MemoryStream(loop)),
            std::unique_ptr<MemoryStream>(new MemoryStream(loop))};
  pair.left->peer_ = pair.right.get();
  pair.right->peer_ = pair.left.get();
  return pair;
}

MemoryStream::~MemoryStream() {
  if (peer_ == nullptr) return;
  peer_->peer_ = nullptr;
  peer_->DeliverSoon();
}

void MemoryStream::SetSink(Sink& sink) {
  sink_ = &sink;
  DeliverSoon();
}

void MemoryStream::SetReading(bool reading) {
  reading_ = reading;
  DeliverSoon();
}

void MemoryStream::Write(std::string_view bytes) {
  unsent_.append(bytes);
  Move();
}

void MemoryStream::Move() {
  if (peer_ == nullptr) return unsent_.clear();
  const std::size_t count = std::min(unsent_.size(), kRoom - peer_->inbox_.size());
  peer_->inbox_.append(unsent_, 0, count);
  unsent_.erase(0, count);
  was_full_ = was_full_ || !unsent_.empty();
  if (count > 0) peer_->DeliverSoon();
}

void MemoryStream::DeliverSoon() {
  if (timer_ || sink_ == nullptr) return;
  timer_ = loop_.At(loop_.Now(), [this] {
    const Timer ran = std::exchange(timer_, Timer());
    Deliver();
  });
}

void MemoryStream::Deliver() {
  if (!reading_) return;
  Liveness::Watch watch(liveness_);
  const std::string bytes = std::exchange(inbox_, {});
  if (!bytes.empty()) sink_->OnBytes(bytes);
  if (!watch.alive()) return;
  if (peer_ == nullptr) return sink_->OnClosed(Unavailable("the peer closed the connection"));
  peer_->Move();
  // The other end may have written before anyone listens there.
  if (peer_->unsent_.empty() && std::exchange(peer_->was_full_, false) && peer_->sink_ != nullptr) {
    peer_->sink_->OnWritable();
  }
}

}  // namespace galen::net
