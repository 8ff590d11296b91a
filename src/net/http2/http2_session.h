// What client and server share of an HTTP/2 connection: nghttp2 between a byte stream and events.
// Internal to this room. Belongs to its loop. Owns the stream; loop and events outlive it. Knows
// streams by number and nothing of requests, answers or their bodies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/liveness.h"
#include "base/loop/loop.h"
#include "net/byte_stream.h"
#include "net/http.h"

struct nghttp2_session;

namespace galen::net {

// Why a stream or a connection ended (RFC 9113, section 7); those that we send or look at.
enum class Http2Error : std::uint32_t {
  kNone = 0,
  kInternal = 2,
  kRefusedStream = 7,
  kCancel = 8,
  kEnhanceYourCalm = 11,
  kInadequateSecurity = 12,
};
// "CANCEL"; also for codes that have no name above.
std::string_view ToString(Http2Error error);

// Frames go out at the end of the loop's turn, many in one write; answers and data come in as
// events. No event ever comes from inside a call to the session, but for Start, which may bring
// those of its `first` bytes. Once it is over, calls do nothing.
class Http2Session final : private ByteStream::Sink {
 public:
  // What ReadBody gives: how many bytes it put into the buffer, and what follows them: more, a wait
  // for ResumeBody, the end of the stream, or trailers, which it has submitted by then.
  struct BodyPiece {
    std::size_t bytes = 0;
    enum class Then { kMore, kWait, kEnd, kTrailers } then = Then::kMore;
  };

  // All but OnTurn and OnSessionEnd are called in the middle of nghttp2's work: they take notes
  // and call nobody but the session's Submit… and Reset.
  class Events {
   public:
    virtual ~Events() = default;
    // A HEADERS frame of the peer: a request at a server, an answer or its trailers at a client.
    virtual void OnHeadersBegin(std::int32_t stream) = 0;
    virtual void OnHeader(std::int32_t stream, std::string_view name, std::string_view value) = 0;
    virtual void OnHeadersEnd(std::int32_t stream, bool last) = 0;
    // True: the stream's window is given back at once, and who keeps bytes bounds them. False: by
    // Consume. The connection's is given back at once in either case, so that no stream waits for
    // another.
    virtual bool OnData(std::int32_t stream, std::string_view bytes) = 0;
    virtual void OnDataEnd(std::int32_t stream) = 0;
    // Last of each stream, whoever ended it; also of a request that could not be sent.
    virtual void OnStreamClosed(std::int32_t stream, Http2Error error) = 0;
    // Puts at most `size` bytes of the stream's body to `to`.
    virtual BodyPiece ReadBody(std::int32_t stream, char* to, std::size_t size) = 0;
    // The peer's SETTINGS, the first and later ones; not its acknowledgements of ours.
    virtual void OnSettings() {}
    virtual void OnGoaway(Http2Error, std::string_view /*text*/) {}
    // Bytes have been handled: the time to act on the notes. May destroy the session.
    virtual void OnTurn() = 0;
    // Once, last: the connection is over. May destroy the session.
    virtual void OnSessionEnd(const Status& status) = 0;
  };

  // The differences between the two ends.
  struct Options {
    enum class Side { kClient, kServer } side = Side::kClient;
    // Lets through what old grpc-go sends on unix sockets: a path as :authority.
    bool lax_messages = false;
    // Streams that a client may have open at a server; nghttp2 refuses more with REFUSED_STREAM.
    std::uint32_t streams_max = 100;
    // The SETTINGS_MAX_HEADER_LIST_SIZE that is announced to the peer; advice only, the events'
    // owner counts.
    std::uint32_t head_bytes_max = 64 * 1024;
    // How many bytes the peer may send ahead on one stream.
    std::uint32_t stream_window_bytes = 1024 * 1024;
    // See DialOptions; zero: no PINGs.
    Duration ping_after = Duration::zero();
  };

  Http2Session(Loop& loop, std::unique_ptr<ByteStream> stream, Options options, Events& events);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  ~Http2Session() override;

  // Starts; `first` is what was already read of the stream.
  void Start(std::string_view first);

  // Pseudo headers come first. The body is asked for by ReadBody. A client's new stream's number,
  // or a Status when it can have none.
  StatusOr<std::int32_t> SubmitRequest(const Headers& fields, bool has_body);
  // Without `has_body` the head ends the answer. Errors are ignored here: all of them mean that the
  // stream is gone, which OnStreamClosed reports.
  void SubmitResponse(std::int32_t stream, const Headers& fields, bool has_body);
  // Only from within ReadBody, which then answers kTrailers.
  void SubmitTrailers(std::int32_t stream, const Headers& fields);
  // After ReadBody said kWait: there is more.
  void ResumeBody(std::int32_t stream);
  // Gives as much of the stream's window back. nghttp2 notifies the peer once it is half of it.
  void Consume(std::int32_t stream, std::size_t bytes);
  // The other streams go on. Does nothing for a stream that is gone.
  void Reset(std::int32_t stream, Http2Error error);
  // Takes no more streams from the peer; the session ends after the last.
  void Goaway();

  // Whether the stream's first frame has left; before, it waits for one of the peer's slots.
  bool HasLeft(std::int32_t stream) const;
  // At the end of the loop's present turn calls OnTurn, then sends. Repeated calls in a turn do it
  // once.
  void SettleSoon();

  bool over() const { return over_; }

 private:
  struct Callbacks;

  void OnBytes(std::string_view bytes) override;
  void OnWritable() override { Settle(); }
  void OnClosed(const Status& status) override { End(status); }

  void SendSettings();
  // One turn: act on the notes, send, act on what sending brought; ends the session when nothing is
  // left to say. May destroy this.
  void Settle();
  // Sends until the stream has to keep a part of it, or nothing is left.
  Status SendBatches();
  // Every session ends here. May destroy this.
  void End(const Status& status);
  // Sets the timer for the next PING, from the time something was last received.
  void WatchSilence();
  void OnSilenceTimer();
  Status EndOfConversation() const;

  Loop& loop_;
  std::unique_ptr<ByteStream> stream_;
  const Options options_;
  Events& events_;
  nghttp2_session* session_ = nullptr;
  bool over_ = false;
  // In OnTurn before sending: what is submitted now leaves without another turn.
  bool sending_next_ = false;
  bool ping_unanswered_ = false;
  // When anything last came from the peer.
  Time heard_{};
  // nghttp2's message about what it last found wrong with the peer.
  std::string complaint_;
  Timer settle_;
  Timer silence_;
  Liveness liveness_;
};

}  // namespace galen::net
