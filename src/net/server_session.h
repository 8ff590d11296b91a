// One accepted connection once its version of HTTP is known. Internal to this room; belongs
// to the loop of its server.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/loop/loop.h"
#include "net/http.h"

namespace galen::net {

// Limits of all of a server's connections.
struct SessionLimits {
  std::size_t request_body_bytes_max = 16 * 1024 * 1024;
  // Bytes of all bodies of one connection that were not handed to the handler yet.
  std::size_t waiting_bytes_max = 64 * 1024 * 1024;
  // Bytes of the headers of one request, with kFieldBytes more for each field; past it: 431.
  std::size_t head_bytes_max = 64 * 1024;
  // HTTP/2: the same sum over all requests of a connection, until their streams are closed.
  // Compressed, a field may come as one byte, so nothing else bounds what a client has us keep. 4
  // KiB for each of the streams. Past it a stream is reset with ENHANCE_YOUR_CALM.
  std::size_t heads_bytes_max = 4 * 1024 * 1024;
  std::size_t streams_max = 1000;
  // How long a client may take for a request; an HTTP/1.1 connection also between two, and to take
  // more of an answer that has ended. An HTTP/2 stream is reset then, a connection of HTTP/1.1
  // ends.
  Duration request_timeout = std::chrono::seconds(60);
  // An HTTP/2 connection may be idle as long as its client lives, but holds one of the server's
  // slots: after this much silence it is checked by a PING, and ended when that stays unanswered
  // for as long again. Our own clients PING twice as often.
  Duration ping_after = std::chrono::seconds(60);
};

// Where a session's requests go, and who sends them.
struct SessionContext {
  Loop& loop;
  HttpHandler& handler;
  SessionLimits limits;
  std::optional<PeerCredentials> peer;
  // Runs once, last: the connection is over and why. May destroy the session.
  std::function<void(const Status&)> on_end;
};

// Destroying it closes the connection; exchanges under way are notified that they are gone.
class ServerSession {
 public:
  virtual ~ServerSession() = default;
  // Takes no more requests; ends after the last answer.
  virtual void Drain() = 0;
  // Since when the handler owes no answer: the end of the last one, or the start. nullopt: it owes
  // one. Bytes that make no whole request do not count, nor does what keeps a connection alive (a
  // PING's answer), nor an answer that the client is slow to read: all that is the client's to draw
  // out as long as it likes.
  virtual std::optional<Time> idle_since() const = 0;
};

}  // namespace galen::net
