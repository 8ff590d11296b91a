// Bytes both ways between two ends, without blocking: a socket, TLS over another stream, or two
// ends in memory for tests. Internal to this room. Belongs to its loop.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace galen::net {

class ByteStream {
 public:
  // Hears what comes. Every call comes from the loop, never from inside a call to the stream, and
  // may destroy the stream or hand it to another sink.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnBytes(std::string_view bytes) = 0;
    // Everything written has left: the time to write more.
    virtual void OnWritable() = 0;
    // Once, last: the peer ended it or it broke. Never OK.
    virtual void OnClosed(const Status& status) = 0;
  };

  virtual ~ByteStream() = default;

  // From now on `sink` hears; it outlives the stream or is replaced in time. The first call starts
  // the stream.
  virtual void SetSink(Sink& sink) = 0;
  // Keeps what cannot leave at once; the writer looks at unsent() to keep that bounded.
  virtual void Write(std::string_view bytes) = 0;
  virtual std::size_t unsent() const = 0;
};

}  // namespace galen::net
