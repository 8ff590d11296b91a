// Requests of HTTP/1.1 out of bytes, one at a time. Internal to this room; libhttp-parser behind
// it. Values in, values out: no sockets, no time. Takes HTTP/1.0 too. Trailers are dropped, an
// Upgrade is not taken.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace galen::net {

// Reads one request, then must be replaced by a new one for the next. No I/O; belongs to its
// connection's loop.
class Http1RequestReader {
 public:
  // At either limit the request is refused, 431 or 413, as soon as it is known to break it.
  struct Limits {
    // Path, names and values, kFieldBytes for each field; the parser itself ends at 80 KiB of head.
    std::size_t head_bytes_max = 64 * 1024;
    std::size_t body_bytes_max = 16 * 1024 * 1024;
  };
  // kComplete and kRefused are final: what comes after belongs to the next request, or to nobody.
  enum class State { kReading, kComplete, kRefused };

  explicit Http1RequestReader(Limits limits);
  Http1RequestReader(const Http1RequestReader&) = delete;
  Http1RequestReader& operator=(const Http1RequestReader&) = delete;
  ~Http1RequestReader();

  // How much of `bytes` belongs to this request; all of it while the state stays kReading, nothing
  // once it is final.
  std::size_t Read(std::string_view bytes);

  State state() const;
  // Whether any byte of the request has come.
  bool started() const;
  // Once: whether the client waits for "100 Continue" before it sends its body.
  bool TakeExpectation();

  // When complete. TakeRequest once; the others stay.
  HttpRequest TakeRequest();
  bool keep_alive() const;
  bool is_http_1_0() const;

  // When refused: the answer's status (400, 413 or 431) and a sentence for the client.
  int refusal_status() const;
  const std::string& refusal() const;

 private:
  struct Impl;

  std::unique_ptr<Impl> impl_;
};

// "OK" for 200; also for statuses that nobody has named.
std::string_view ReasonPhrase(int status);

}  // namespace galen::net
