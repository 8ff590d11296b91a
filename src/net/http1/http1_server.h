// The server's end of an HTTP/1.1 connection: one request at a time, others wait their turn. For
// Prometheus, curl and probes, which ask rarely and one thing at a time. Internal to this room.
// Belongs to its loop. Owns the stream; at most one exchange points back at it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/byte_stream.h"
#include "net/http.h"
#include "net/http1/http1_request.h"
#include "net/server_session.h"

namespace galen::net {

// Frames an answer of HTTP/1.1: by its length, in chunks, or by the connection's end (RFC 9112,
// section 6.3). Internal to this room. A pure state machine: calls in, bytes out. One for each
// answer; Head, any number of Body, End, in this order, or the process ends.
class Http1AnswerWriter {
 public:
  // What the request asks of its answer.
  struct Options {
    // The request was HEAD: the head says what GET would, and no body follows.
    bool head_only = false;
    // The client knows no chunks; without a length the connection's end is the body's end.
    bool is_http_1_0 = false;
    // What the request allows; the answer may take it back.
    bool keep_alive = true;
  };

  explicit Http1AnswerWriter(Options options) : options_(options) {}

  // Each gives what goes on the wire, which may be nothing. A content-length among `headers`
  // chooses the framing. REQUIRES: it is a number, and the body is not longer. A "connection:
  // close" takes keep_alive back.
  std::string Head(int status, const Headers& headers);
  std::string Body(std::string_view bytes);
  std::string End(const Headers& trailers);

  bool ended() const { return ended_; }
  // After the end: whether another answer may follow on the same connection.
  bool keep_alive() const { return options_.keep_alive; }

 private:
  enum class Framing { kNone, kLength, kChunks, kUntilClose };

  Options options_;
  bool has_head_ = false;
  bool ended_ = false;
  Framing framing_ = Framing::kNone;
  std::size_t left_ = 0;  // kLength: bytes still promised
};

// A client that closes its sending side counts as gone, even when it could still read.
class Http1Server final : public ServerSession, private ByteStream::Sink {
 public:
  // The context's on_end runs once, from the loop, and may destroy this.
  Http1Server(SessionContext context, std::unique_ptr<ByteStream> stream);
  Http1Server(const Http1Server&) = delete;
  Http1Server& operator=(const Http1Server&) = delete;
  ~Http1Server() override;

  // `first` is what was already read of the stream. May run the handler, and may destroy this.
  void Start(std::string_view first);
  void Drain() override;
  std::optional<Time> idle_since() const override;

 private:
  class Exchange;
  // A request comes in; its answer goes out; a refused request is read and dropped.
  enum class Phase { kRequest, kAnswer, kLinger };

  void OnBytes(std::string_view bytes) override;
  void OnWritable() override { Pump(); }
  void OnClosed(const Status& status) override { End(status); }

  void ExpectRequest();
  void Read(std::string_view bytes);
  void HandOver();
  void Refuse();
  void Queue(std::string bytes);
  // Moves what is queued to the stream, and notifies the exchange when all of it has left.
  void Pump();
  void ExpectReading();
  // The answer has left as a whole: on to the next request, or to the end.
  void AnswerDone();
  // Reads the next request, which may be here already.
  void NextSoon();
  void EndSoon(std::string why);
  void End(const Status& status);

  // Calls of the exchange.
  void Head(int status, const Headers& headers);
  void Write(std::string_view bytes);
  void EndAnswer(const Headers& trailers);
  std::size_t queued() const { return queued_ + stream_->unsent(); }
  void Release();

  const SessionContext context_;
  std::unique_ptr<ByteStream> stream_;
  Phase phase_ = Phase::kRequest;
  bool draining_ = false;
  Time idle_since_;
  bool body_written_ = false;  // since the exchange was last notified that all was sent
  std::string waiting_;        // what the client sent ahead of its turn
  std::unique_ptr<Http1RequestReader> reader_;
  std::optional<Http1AnswerWriter> answer_;
  Exchange* exchange_ = nullptr;
  std::deque<std::string> queue_;
  std::size_t queued_ = 0;
  std::size_t front_sent_ = 0;
  Timer timeout_;
  Timer next_;
};

}  // namespace galen::net
