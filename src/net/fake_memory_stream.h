// Two ends of a byte stream in memory, for tests of protocols without sockets. The room between
// them is bounded, and either end can stop reading, as sockets do. Belongs to its loop.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/liveness.h"
#include "base/loop/loop.h"
#include "net/byte_stream.h"

namespace galen::net {

class MemoryStream final : public ByteStream {
 public:
  // How many bytes fit between the ends in each direction.
  static constexpr std::size_t kRoom = 64 * 1024;

  struct Pair {
    std::unique_ptr<MemoryStream> left;
    std::unique_ptr<MemoryStream> right;
  };
  // Two ends that are each other's peer; either may die first. The loop outlives both.
  static Pair Make(Loop& loop);
  ~MemoryStream() override;

  void SetSink(Sink& sink) override;
  void Write(std::string_view bytes) override;
  std::size_t unsent() const override { return unsent_.size(); }

  // While it does not read, what the other end writes piles up there (unsent).
  void SetReading(bool reading);

 private:
  explicit MemoryStream(Loop& loop) : loop_(loop) {}
  // As much of unsent_ as the peer has room for.
  void Move();
  void DeliverSoon();
  // Delivers what came to the sink, then makes room for more. May destroy this.
  void Deliver();

  Loop& loop_;
  MemoryStream* peer_ = nullptr;
  Sink* sink_ = nullptr;
  bool reading_ = true;
  bool was_full_ = false;
  std::string unsent_;
  std::string inbox_;
  Timer timer_;
  Liveness liveness_;
};

// Keeps what came, for tests that write a protocol by hand.
class RecordingByteSink final : public ByteStream::Sink {
 public:
  void OnBytes(std::string_view bytes) override { received.append(bytes); }
  void OnWritable() override { ++writable; }
  void OnClosed(const Status& status) override {
    closed = status;
    ++ends;
  }

  std::string received;
  int writable = 0;
  int ends = 0;
  Status closed;  // OK while it is open
};

}  // namespace galen::net
