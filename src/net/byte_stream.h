// Bytes both ways between two ends, without blocking: a socket (fd_stream), TLS over another stream
// (tls_stream), or two ends in memory for tests (fake_memory_stream). Internal to this room.
// Belongs to its loop. Has one owner; destroying it closes it, and its sink is not called any more.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace galen::net {

class ByteStream {
 public:
  // Receives what comes. Every call comes from the loop, never from inside a call to the stream,
  // and may destroy the stream or hand it to another sink.
  class Sink {
   public:
    virtual ~Sink() = default;
    // Bytes that came, in order, in pieces that end anywhere; borrowed for the call.
    virtual void OnBytes(std::string_view bytes) = 0;
    // Everything written has left after it once could not: time to write more. Not called for bytes
    // that left within Write.
    virtual void OnWritable() = 0;
    // Once, last: the peer ended it or it broke. Never OK; Unavailable unless a handshake says
    // more.
    virtual void OnClosed(const Status& status) = 0;
  };

  virtual ~ByteStream() = default;

  // From now on `sink` is called; it outlives the stream or is replaced in time. The first call
  // starts the stream: before it nothing is read.
  virtual void SetSink(Sink& sink) = 0;
  // Takes all of `bytes`; keeps what cannot leave at once. The writer looks at unsent() to keep
  // that bounded. On a broken stream it does nothing: OnClosed reports that.
  virtual void Write(std::string_view bytes) = 0;
  // Bytes that are kept because the other end has not taken them.
  virtual std::size_t unsent() const = 0;
};

}  // namespace galen::net
