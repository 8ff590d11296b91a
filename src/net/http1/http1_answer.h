// How an answer of HTTP/1.1 is framed: by its length, in chunks, or by the connection's end (RFC
// 9112, section 6.3). Internal to this room. A pure state machine: calls in, bytes out. One for
// each answer; Head, any number of Body, End, in this order, or the process ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace galen::net {

class Http1AnswerWriter {
 public:
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

}  // namespace galen::net
