// The client's end of an HTTP/2 connection (RFC 9113), for gRPC and the Kubernetes API. Internal to
// this room; made by the dialer. Belongs to its loop, which outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop/loop.h"
#include "net/byte_stream.h"
#include "net/connection.h"
#include "net/http2/http2_session.h"

namespace galen::net {

// Many calls over one byte stream. Sinks are called only from the loop, outside of nghttp2's work,
// and may destroy calls and the connection from any of their callbacks. What comes is noted in
// OnHeader and its like, and delivered in OnTurn. Flow-control windows are given back as data comes
// in, those of paced requests as it is taken.
class Http2Client final : public Connection, private Http2Session::Events {
 public:
  // The client's part of DialOptions.
  struct Options {
    // How errors name the server, e.g. the target that was dialled.
    std::string peer;
    std::string authority = "localhost";
    std::string scheme = "http";
    // Counted over one answer, headers and trailers together, kFieldBytes for each field included.
    std::size_t head_bytes_max = 64 * 1024;
    // See DialOptions.
    std::uint32_t stream_window_bytes = 1024 * 1024;
    Duration ping_after = Duration::zero();
  };

  // Sends its settings at once.
  Http2Client(Loop& loop, std::unique_ptr<ByteStream> stream, Options options);
  ~Http2Client() override;

  std::unique_ptr<HttpCall> Send(HttpRequest request, HttpResponseSink& sink) override;
  void OnClosed(std::function<void(const Status&)> callback) override;
  bool usable() const override { return usable_; }

  // Called once when the server's settings have come: the peer is an HTTP/2 server. Not called once
  // the connection is over. May destroy this.
  void OnReady(std::function<void()> callback) { on_ready_ = std::move(callback); }

 private:
  class Call;
  struct Stream;
  // A callback to a sink, made once nghttp2 has returned.
  struct Note {
    enum class Kind { kHead, kData, kEnd } kind = Kind::kHead;
    std::int32_t stream = 0;
    std::size_t begin = 0;  // kData: where in data_
    std::size_t size = 0;
  };

  void OnHeadersBegin(std::int32_t) override {}
  void OnHeader(std::int32_t id, std::string_view name, std::string_view value) override;
  void OnHeadersEnd(std::int32_t id, bool last) override;
  bool OnData(std::int32_t id, std::string_view bytes) override;
  void OnDataEnd(std::int32_t id) override;
  void OnStreamClosed(std::int32_t id, Http2Error error) override;
  Http2Session::BodyPiece ReadBody(std::int32_t id, char* to, std::size_t size) override;
  void OnSettings() override { settled_ = true; }
  void OnGoaway(Http2Error error, std::string_view text) override;
  void OnTurn() override;
  void OnSessionEnd(const Status& status) override;

  Stream* Find(std::int32_t id);
  // The first end of a stream counts; it is delivered in the next OnTurn.
  void EndOfAnswer(std::int32_t id, Status status);
  void Deliver(const Note& note, std::string_view data);
  void DeliverEnd(std::int32_t id);
  void Cancel(std::int32_t id);

  Loop& loop_;
  const Options options_;
  bool usable_ = true;
  // The server's settings have come.
  bool settled_ = false;
  Status closed_;  // why, once it is
  // The reason in the peer's GOAWAY, "" before it: the connection ends for that reason, whatever
  // follows.
  std::string goaway_;
  std::map<std::int32_t, Stream> streams_;
  // In the order in which they came; data_ holds the bytes of all kData among them.
  std::vector<Note> notes_;
  std::string data_;
  std::function<void()> on_ready_;
  std::function<void(const Status&)> on_closed_;
  Timer late_closed_;
  Liveness liveness_;
  Http2Session session_;
};

}  // namespace galen::net
