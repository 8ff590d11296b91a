// The server's end of an HTTP/2 connection (RFC 9113). Internal to this room; made by Accepted.
// Belongs to its loop. Loop and handler outlive it; exchanges may outlive it and are notified that
// they are gone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/byte_stream.h"
#include "net/http2/http2_session.h"
#include "net/server_session.h"

namespace galen::net {

// Hands each request to the handler once it is whole. Requests that break a limit are answered
// here: 431 for headers, 413 for bodies (for gRPC: RESOURCE_EXHAUSTED); a stream that would break
// the connection's bound on headers or waiting bodies is reset with ENHANCE_YOUR_CALM, one whose
// request is not whole in time with CANCEL. What comes is noted in OnHeader and its like, and acted
// upon in OnTurn.
class Http2Server final : public ServerSession, private Http2Session::Events {
 public:
  // `first` is what was already read of the stream. `lax_messages`: see Http2Session.
  Http2Server(SessionContext context, std::unique_ptr<ByteStream> stream, bool lax_messages);
  ~Http2Server() override;

  // May run the handler before it returns.
  void Start(std::string_view first) { session_.Start(first); }
  // Says GOAWAY; streams that are open go on.
  void Drain() override { session_.Goaway(); }
  std::optional<Time> idle_since() const override;

 private:
  class Exchange;
  struct Stream;

  void OnHeadersBegin(std::int32_t id) override;
  void OnHeader(std::int32_t id, std::string_view name, std::string_view value) override;
  void OnHeadersEnd(std::int32_t id, bool last) override;
  bool OnData(std::int32_t id, std::string_view bytes) override;
  void OnDataEnd(std::int32_t id) override;
  void OnStreamClosed(std::int32_t id, Http2Error error) override;
  Http2Session::BodyPiece ReadBody(std::int32_t id, char* to, std::size_t size) override;
  void OnTurn() override;
  void OnSessionEnd(const Status& status) override;

  Stream* Find(std::int32_t id);
  void RequestComplete(std::int32_t id);
  void Refuse(std::int32_t id, int status, std::string text);
  // A part of the request's body.
  void TakeBody(std::int32_t id, Stream& stream, std::string_view bytes);
  // A limit of the connection is reached: resets the stream with ENHANCE_YOUR_CALM (RFC 9113,
  // section 7), so that the peer may try again, unlike what is refused.
  void ResetOverLimit(std::int32_t id, Stream& stream);
  // Gives back what has come of the request; what still comes is dropped.
  void Forget(Stream& stream);
  // Sets the timer that looks for requests that are not whole in time.
  void WatchUnfinished(Time when);
  void OnUnfinishedTimer();
  void HandOver(std::int32_t id);
  void SubmitHead(std::int32_t id, Stream& stream);

  // Calls of exchanges.
  void Head(std::int32_t id, int status, Headers headers);
  void Write(std::int32_t id, std::string bytes);
  void EndAnswer(std::int32_t id, Headers trailers);
  std::size_t Queued(std::int32_t id);
  void Release(std::int32_t id);

  const SessionContext context_;
  std::map<std::int32_t, Stream> streams_;
  // Requests that are whole and wait for the next OnTurn.
  std::vector<std::int32_t> complete_;
  // Answers whose head may still grow an end: they leave at the end of the turn.
  std::vector<std::int32_t> head_waits_;
  // Bodies of requests that are not whole yet; bounded by waiting_bytes_max.
  std::size_t waiting_bytes_ = 0;
  // The sum of the streams' head_bytes; bounded by heads_bytes_max.
  std::size_t heads_bytes_ = 0;
  Timer unfinished_;
  Time idle_since_;
  Liveness liveness_;
  Http2Session session_;
};

}  // namespace galen::net
