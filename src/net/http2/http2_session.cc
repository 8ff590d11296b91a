#include "net/http2/http2_session.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace galen::net {
namespace {

// Large lists come in few round trips.
constexpr std::int32_t kConnectionWindowBytes = 8 * 1024 * 1024;
// Bytes of one write to the socket; the rest stays where newer frames can overtake it.
constexpr std::size_t kBatchBytesMax = 64 * 1024;
// What a server may owe a client that sends and does not read, in frames that nghttp2 keeps:
// several for each stream of a connection, and the 1,000 acknowledgements that it allows by itself.
// Refused streams and PINGs cost a client next to nothing. Past it the connection ends.
constexpr std::size_t kUnsentFramesMax = 10'000;

// nghttp2's C interface wants pointers to what it does not change.
std::uint8_t* Bytes(const std::string& text) {
  return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
}

std::string_view View(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Borrows the texts of `fields`; nghttp2 copies them when they are submitted.
std::vector<nghttp2_nv> Fields(const Headers& fields) {
  std::vector<nghttp2_nv> out;
  out.reserve(fields.size());
  for (const Header& field : fields) {
    out.push_back({Bytes(field.name), Bytes(field.value), field.name.size(), field.value.size(),
                   NGHTTP2_NV_FLAG_NONE});
  }
  return out;
}

bool EndsStream(const nghttp2_frame* frame) {
  return (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace

std::string_view ToString(Http2Error error) {
  return nghttp2_http2_strerror(static_cast<std::uint32_t>(error));
}

// nghttp2's C callbacks; `user` is the session.
struct Http2Session::Callbacks {
  static Http2Session& Self(void* user) { return *static_cast<Http2Session*>(user); }

  // Each gives 0, "go on": faults of a message end its stream, which is done by Reset.
  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS) Self(user).events_.OnHeadersBegin(frame->hd.stream_id);
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    Self(user).events_.OnHeader(frame->hd.stream_id, View(name, name_size),
                                View(value, value_size));
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Events& events = Self(user).events_;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
        events.OnHeadersEnd(frame->hd.stream_id, EndsStream(frame));
        break;
      case NGHTTP2_DATA:
        if (EndsStream(frame)) events.OnDataEnd(frame->hd.stream_id);
        break;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) events.OnSettings();
        break;
      case NGHTTP2_GOAWAY:
        events.OnGoaway(Http2Error{frame->goaway.error_code},
                        View(frame->goaway.opaque_data, frame->goaway.opaque_data_len));
        break;
      default:  // the rest is nghttp2's own business
        break;
    }
    return 0;
  }

  static int OnDataChunk(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                         const std::uint8_t* data, std::size_t size, void* user) {
    const bool taken = Self(user).events_.OnData(stream, View(data, size));
    // An error means that the stream or the connection is gone.
    static_cast<void>(taken ? nghttp2_session_consume(session, stream, size)
                            : nghttp2_session_consume_connection(session, size));
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* user) {
    Self(user).events_.OnStreamClosed(stream, Http2Error{error});
    return 0;
  }

  // A request that could not leave, because the peer takes no more streams.
  static int OnFrameNotSent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    Self(user).events_.OnStreamClosed(frame->hd.stream_id, Http2Error::kRefusedStream);
    return 0;
  }

  static int OnComplaint(nghttp2_session*, int, const char* text, std::size_t size, void* user) {
    Self(user).complaint_.assign(text, size);
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session*, std::int32_t stream, std::uint8_t* to, std::size_t size,
                          std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& self = *static_cast<Http2Session*>(source->ptr);
    const BodyPiece piece = self.events_.ReadBody(stream, reinterpret_cast<char*>(to), size);
    switch (piece.then) {
      case BodyPiece::Then::kMore:
        break;
      case BodyPiece::Then::kWait:
        // With bytes in hand they go out first; the next call finds none and defers.
        if (piece.bytes == 0) return NGHTTP2_ERR_DEFERRED;
        break;
      case BodyPiece::Then::kEnd:
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        break;
      case BodyPiece::Then::kTrailers:
        // The body ends here, the stream with the trailers.
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        break;
    }
    return static_cast<ssize_t>(piece.bytes);
  }

  static nghttp2_session_callbacks* New() {
    nghttp2_session_callbacks* out = nullptr;
    GALEN_CHECK(nghttp2_session_callbacks_new(&out) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(out, OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(out, OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(out, OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(out, OnDataChunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(out, OnStreamClose);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(out, OnFrameNotSent);
    nghttp2_session_callbacks_set_error_callback2(out, OnComplaint);
    return out;
  }
};

Http2Session::Http2Session(Loop& loop, std::unique_ptr<ByteStream> stream, Options options,
                           Events& events)
    : loop_(loop),
      stream_(std::move(stream)),
      options_(options),
      events_(events),
      heard_(loop.Now()) {
  nghttp2_session_callbacks* callbacks = Callbacks::New();
  nghttp2_option* option = nullptr;
  GALEN_CHECK(nghttp2_option_new(&option) == 0);
  // Old grpc-go sends the socket's path as :authority, which nghttp2 would refuse with
  // PROTOCOL_ERROR. What we need of its checks is done by Http2Server.
  if (options_.lax_messages) nghttp2_option_set_no_http_messaging(option, 1);
  nghttp2_option_set_no_auto_window_update(option, 1);
  const int made = options_.side == Options::Side::kClient
                       ? nghttp2_session_client_new2(&session_, callbacks, this, option)
                       : nghttp2_session_server_new2(&session_, callbacks, this, option);
  GALEN_CHECK(made == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

void Http2Session::Start(std::string_view first) {
  SendSettings();
  SettleSoon();
  WatchSilence();
  // The settings are queued before anything is read: they are the first that leaves.
  stream_->SetSink(*this);
  if (!first.empty()) OnBytes(first);
}

void Http2Session::SendSettings() {
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options_.stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options_.head_bytes_max}};
  if (options_.side == Options::Side::kClient) {
    // Nobody here could use a pushed answer.
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options_.streams_max});
  }
  GALEN_CHECK(
      nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
  // Stream 0 is the connection; its window is not part of SETTINGS (RFC 9113, section 6.9.2).
  GALEN_CHECK(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                                    kConnectionWindowBytes) == 0);
}

StatusOr<std::int32_t> Http2Session::SubmitRequest(const Headers& fields, bool has_body) {
  const std::vector<nghttp2_nv> nv = Fields(fields);
  const nghttp2_data_provider body = {{.ptr = this}, Callbacks::ReadBody};
  const std::int32_t stream = nghttp2_submit_request(session_, nullptr, nv.data(), nv.size(),
                                                     has_body ? &body : nullptr, nullptr);
  // Stream numbers are used up, or the session takes no more: another connection can help.
  if (stream < 0) return Unavailable("new request: {}", nghttp2_strerror(stream));
  SettleSoon();
  return stream;
}

void Http2Session::SubmitResponse(std::int32_t stream, const Headers& fields, bool has_body) {
  const std::vector<nghttp2_nv> nv = Fields(fields);
  const nghttp2_data_provider body = {{.ptr = this}, Callbacks::ReadBody};
  // An error means that the stream is gone, which OnStreamClosed reports.
  static_cast<void>(
      nghttp2_submit_response(session_, stream, nv.data(), nv.size(), has_body ? &body : nullptr));
  SettleSoon();
}

void Http2Session::SubmitTrailers(std::int32_t stream, const Headers& fields) {
  const std::vector<nghttp2_nv> nv = Fields(fields);
  // As of a response: an error means that the stream is gone.
  static_cast<void>(nghttp2_submit_trailer(session_, stream, nv.data(), nv.size()));
}

void Http2Session::ResumeBody(std::int32_t stream) {
  // An error means that the stream has no body that waits: there is nothing to resume.
  static_cast<void>(nghttp2_session_resume_data(session_, stream));
  SettleSoon();
}

void Http2Session::Consume(std::int32_t stream, std::size_t bytes) {
  if (over_) return;
  // An error means that the stream is gone, and its window with it.
  static_cast<void>(nghttp2_session_consume_stream(session_, stream, bytes));
  SettleSoon();
}

void Http2Session::Reset(std::int32_t stream, Http2Error error) {
  if (over_) return;
  // An error means that the stream is gone, which is what was asked for.
  static_cast<void>(nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream,
                                              static_cast<std::uint32_t>(error)));
  SettleSoon();
}

bool Http2Session::HasLeft(std::int32_t stream) const {
  return nghttp2_session_find_stream(session_, stream) != nullptr;
}

void Http2Session::Goaway() {
  if (over_) return;
  // Refused only when the session ends in any case.
  static_cast<void>(nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                                          nghttp2_session_get_last_proc_stream_id(session_),
                                          NGHTTP2_NO_ERROR, nullptr, 0));
  SettleSoon();
}

void Http2Session::OnBytes(std::string_view bytes) {
  heard_ = loop_.Now();
  ping_unanswered_ = false;
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  // nghttp2 takes all or fails. A client's own requests wait among its frames.
  if (taken >= 0 && options_.side == Options::Side::kServer &&
      nghttp2_session_get_outbound_queue_size(session_) > kUnsentFramesMax) {
    return End(ResourceExhausted("the client does not read what it asks for"));
  }
  if (taken >= 0) return Settle();
  // Sending the reason to the peer is a courtesy; the connection ends either way.
  static_cast<void>(SendBatches());
  Liveness::Watch watch(liveness_);
  events_.OnTurn();
  if (!watch.alive() || over_) return;
  End(Unavailable("this is not HTTP/2: {}", nghttp2_strerror(static_cast<int>(taken))));
}

void Http2Session::SettleSoon() {
  // Sending is on its way already.
  if (over_ || settle_ || sending_next_) return;
  settle_ = loop_.At(loop_.Now(), [this] {
    const Timer ran = std::move(settle_);
    settle_ = Timer();
    Settle();
  });
}

void Http2Session::Settle() {
  Liveness::Watch watch(liveness_);
  sending_next_ = true;
  events_.OnTurn();
  if (!watch.alive() || over_) return;
  sending_next_ = false;
  if (const Status status = SendBatches(); !status.ok()) return End(status);
  events_.OnTurn();  // sending closes streams and drains bodies
  if (!watch.alive() || over_) return;
  // While anything is to be read or written the conversation goes on; OnWritable comes back here.
  if (stream_->unsent() > 0 || nghttp2_session_want_read(session_) != 0 ||
      nghttp2_session_want_write(session_) != 0) {
    return;
  }
  End(EndOfConversation());
}

Status Http2Session::EndOfConversation() const {
  if (complaint_.empty()) return Unavailable("both sides have ended it");
  return Unavailable("the other end broke the protocol: {}", complaint_);
}

Status Http2Session::SendBatches() {
  // One batch ahead of the socket at most: what waits in nghttp2 can still be reordered or reset.
  while (stream_->unsent() == 0) {
    std::string batch;
    while (batch.size() < kBatchBytesMax) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size < 0) return Internal("writing HTTP/2: {}", nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) break;
      batch.append(View(data, static_cast<std::size_t>(size)));
    }
    if (batch.empty()) break;
    stream_->Write(batch);
  }
  return OkStatus();
}

void Http2Session::End(const Status& status) {
  // The stream is closed before OnSessionEnd: that call may destroy this session, and nothing may
  // be sent any more.
  over_ = true;
  settle_.Cancel();
  silence_.Cancel();
  stream_.reset();
  events_.OnSessionEnd(status);
}

void Http2Session::WatchSilence() {
  if (options_.ping_after == Duration::zero()) return;
  // One timer, set again only when it fires, so that receiving costs no timer work.
  silence_ = loop_.At(std::max(heard_, loop_.Now() - options_.ping_after) + options_.ping_after,
                      [this] { OnSilenceTimer(); });
}

void Http2Session::OnSilenceTimer() {
  const Duration silent = loop_.Now() - heard_;
  if (silent >= options_.ping_after && ping_unanswered_) {
    const auto seconds = std::chrono::duration<double>(silent).count();
    return End(Unavailable("silent for {:.1f} s, and no answer to a PING", seconds));
  }
  if (silent >= options_.ping_after) {
    // Any byte from the peer clears it, not only the PING's answer.
    ping_unanswered_ = true;
    // A PING that cannot be sent is one without an answer: the next look ends the connection.
    static_cast<void>(nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr));
    SettleSoon();
    silence_ = loop_.After(options_.ping_after, [this] { OnSilenceTimer(); });
    return;
  }
  WatchSilence();
}

}  // namespace galen::net
