#include "net/http2/http2_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/exchange_notices.h"

namespace galen::net {
namespace {

// gRPC's status number for a refusal by HTTP `status`: INTERNAL for a request that is broken (as in
// gRPC's own mapping of 400, doc/http-grpc-status-mapping.md), else RESOURCE_EXHAUSTED for one that
// is too large (413, 431).
std::string GrpcStatusOf(int status) { return status == 400 ? "13" : "8"; }

bool IsGrpc(const HttpRequest& request) {
  const auto type = FindHeader(request.headers, "content-type");
  return type && type->starts_with("application/grpc");
}

}  // namespace

// A request on its way in, then its answer on its way out.
struct Http2Server::Stream {
  HttpRequest request;
  Time begun;
  std::size_t head_bytes = 0;
  // Whole, or refused: what still comes is dropped.
  bool request_done = false;
  // The client has sent its end of the request.
  bool whole = false;
  Exchange* exchange = nullptr;

  // 0 until the handler has called Head.
  int status = 0;
  Headers headers;
  bool head_sent = false;
  // Bytes that were written and have not left; front_sent of the first piece have.
  std::deque<std::string> queue;
  std::size_t front_sent = 0;
  std::size_t queued = 0;
  // The handler has called End; the stream itself may still be open.
  bool ended = false;
  Headers trailers;
};

class Http2Server::Exchange final : public HttpExchange {
 public:
  Exchange(Http2Server& server, std::int32_t id, HttpRequest request)
      : server_(&server),
        id_(id),
        request_(std::move(request)),
        peer_(server.context_.peer),
        notices_(server.context_.loop) {}
  ~Exchange() override {
    if (server_ != nullptr) server_->Release(id_);
  }

  const HttpRequest& request() const override { return request_; }
  std::optional<PeerCredentials> peer() const override { return peer_; }
  void Head(int status, Headers headers) override {
    if (server_ != nullptr) server_->Head(id_, status, std::move(headers));
  }
  void Write(std::string bytes) override {
    if (server_ != nullptr) server_->Write(id_, std::move(bytes));
  }
  void End(Headers trailers) override {
    if (server_ != nullptr) server_->EndAnswer(id_, std::move(trailers));
  }
  std::size_t queued() const override { return server_ != nullptr ? server_->Queued(id_) : 0; }
  void OnDrained(std::function<void()> callback) override {
    notices_.SetOnDrained(std::move(callback));
  }
  void OnGone(std::function<void()> callback) override { notices_.SetOnGone(std::move(callback)); }

  void Drained() { notices_.Drained(); }
  void Detach(bool gone) {
    server_ = nullptr;
    if (gone) notices_.Gone();
  }

 private:
  Http2Server* server_;
  const std::int32_t id_;
  const HttpRequest request_;
  const std::optional<PeerCredentials> peer_;
  ExchangeNotices notices_;
};

Http2Server::Http2Server(SessionContext context, std::unique_ptr<ByteStream> stream,
                         bool lax_messages)
    : context_(std::move(context)),
      idle_since_(context_.loop.Now()),
      session_(context_.loop, std::move(stream),
               {.side = Http2Session::Options::Side::kServer,
                .lax_messages = lax_messages,
                .streams_max = static_cast<std::uint32_t>(context_.limits.streams_max),
                .head_bytes_max = static_cast<std::uint32_t>(context_.limits.head_bytes_max),
                .ping_after = context_.limits.ping_after},
               *this) {}

Http2Server::~Http2Server() {
  for (auto& [id, stream] : streams_) {
    if (stream.exchange != nullptr) stream.exchange->Detach(!stream.ended);
  }
}

std::optional<Time> Http2Server::idle_since() const {
  const auto owes = [](const auto& entry) {
    return entry.second.exchange != nullptr && !entry.second.ended;
  };
  if (std::ranges::any_of(streams_, owes)) return std::nullopt;
  return idle_since_;
}

Http2Server::Stream* Http2Server::Find(std::int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

void Http2Server::OnHeadersBegin(std::int32_t id) {
  const auto [entry, is_new] = streams_.try_emplace(id);
  if (!is_new) return;  // trailers
  entry->second.begun = context_.loop.Now();
  if (!unfinished_) WatchUnfinished(entry->second.begun + context_.limits.request_timeout);
}

void Http2Server::OnHeader(std::int32_t id, std::string_view name, std::string_view value) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->request_done) return;
  const std::size_t size = name.size() + value.size() + kFieldBytes;
  stream->head_bytes += size;
  heads_bytes_ += size;
  if (stream->head_bytes > context_.limits.head_bytes_max) {
    return Refuse(id, 431,
                  fmt::format("the headers exceed {} bytes", context_.limits.head_bytes_max));
  }
  if (heads_bytes_ > context_.limits.heads_bytes_max) return ResetOverLimit(id, *stream);
  HttpRequest& request = stream->request;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.path = value;
  } else if (name == ":authority") {
    // RFC 9113, section 8.3.1: the same thing as an HTTP/1.1 header, so handlers know one name.
    request.headers.push_back({"host", std::string(value)});
  } else if (!name.starts_with(':')) {
    request.headers.push_back({std::string(name), std::string(value)});
  }
}

void Http2Server::OnHeadersEnd(std::int32_t id, bool last) {
  if (last) RequestComplete(id);
}

bool Http2Server::OnData(std::int32_t id, std::string_view bytes) {
  Stream* stream = Find(id);
  if (stream != nullptr && !stream->request_done) TakeBody(id, *stream, bytes);
  return true;
}

void Http2Server::TakeBody(std::int32_t id, Stream& stream, std::string_view bytes) {
  // A thousand uploads at once must not fill the memory; this one may be tried again.
  if (waiting_bytes_ + bytes.size() > context_.limits.waiting_bytes_max)
    return ResetOverLimit(id, stream);
  if (stream.request.body.size() + bytes.size() > context_.limits.request_body_bytes_max) {
    return Refuse(
        id, 413,
        fmt::format("the request exceeds {} bytes", context_.limits.request_body_bytes_max));
  }
  stream.request.body.append(bytes);
  waiting_bytes_ += bytes.size();
}

void Http2Server::OnDataEnd(std::int32_t id) { RequestComplete(id); }

void Http2Server::RequestComplete(std::int32_t id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  stream->whole = true;
  if (stream->request_done) return;
  // nghttp2 sees to it where its checks are on; lax_messages switches them off.
  if (stream->request.path.empty()) return Refuse(id, 400, "the request has no path");
  stream->request_done = true;
  waiting_bytes_ -= stream->request.body.size();
  complete_.push_back(id);
}

void Http2Server::Forget(Stream& stream) {
  stream.request_done = true;
  waiting_bytes_ -= stream.request.body.size();
  heads_bytes_ -= std::exchange(stream.head_bytes, 0);
  // Moved out of the stream, since a text that is emptied by an assignment keeps its memory.
  const HttpRequest gone = std::exchange(stream.request, {});
}

void Http2Server::ResetOverLimit(std::int32_t id, Stream& stream) {
  Forget(stream);
  session_.Reset(id, Http2Error::kEnhanceYourCalm);
}

void Http2Server::WatchUnfinished(Time when) {
  unfinished_ = context_.loop.At(when, [this] {
    const Timer ran = std::exchange(unfinished_, Timer());
    OnUnfinishedTimer();
  });
}

void Http2Server::OnUnfinishedTimer() {
  const Time late = context_.loop.Now() - context_.limits.request_timeout;
  for (auto& [id, stream] : streams_) {
    if (stream.whole) continue;
    // Streams are in the order in which they began.
    if (stream.begun > late) return WatchUnfinished(stream.begun + context_.limits.request_timeout);
    if (!stream.request_done) Forget(stream);
    session_.Reset(id, Http2Error::kCancel);
  }
}

// Answers without the handler. The peer may stop sending: nobody reads the rest.
void Http2Server::Refuse(std::int32_t id, int status, std::string text) {
  Stream& stream = *Find(id);
  const bool is_grpc = IsGrpc(stream.request);
  Forget(stream);
  // gRPC callers read no HTTP status: "trailers only", with 200, in its own terms.
  if (is_grpc) {
    Head(id, 200,
         {{"content-type", "application/grpc"},
          {"grpc-status", GrpcStatusOf(status)},
          {"grpc-message", std::move(text)}});
  } else {
    text += '\n';
    Head(id, status, {{"content-type", "text/plain"}});
    Write(id, std::move(text));
  }
  EndAnswer(id, {});
}

void Http2Server::OnStreamClosed(std::int32_t id, Http2Error) {
  // Taken out of the map first: a message of ours may look the stream up.
  const auto node = streams_.extract(id);
  if (!node) return;
  const Stream& stream = node.mapped();
  if (!stream.request_done) waiting_bytes_ -= stream.request.body.size();
  heads_bytes_ -= stream.head_bytes;
  if (stream.exchange == nullptr) return;
  if (!stream.ended) idle_since_ = context_.loop.Now();
  stream.exchange->Detach(!stream.ended);
}

Http2Session::BodyPiece Http2Server::ReadBody(std::int32_t id, char* to, std::size_t size) {
  using Then = Http2Session::BodyPiece::Then;
  Stream* stream = Find(id);
  if (stream == nullptr) return {.bytes = 0, .then = Then::kEnd};
  std::size_t count = 0;
  while (count < size && !stream->queue.empty()) {
    const std::string& front = stream->queue.front();
    const std::size_t piece = front.copy(to + count, size - count, stream->front_sent);
    count += piece;
    stream->front_sent += piece;
    if (stream->front_sent < front.size()) break;
    stream->queue.pop_front();
    stream->front_sent = 0;
  }
  stream->queued -= count;
  if (stream->queued > 0) return {.bytes = count, .then = Then::kMore};
  // Notified later, by ExchangeNotices: we are inside a call from nghttp2.
  if (count > 0 && stream->exchange != nullptr) stream->exchange->Drained();
  if (!stream->ended) return {.bytes = count, .then = Then::kWait};
  if (stream->trailers.empty()) return {.bytes = count, .then = Then::kEnd};
  // Submitted here and not in EndAnswer: nghttp2 would send them before the rest of the body.
  session_.SubmitTrailers(id, stream->trailers);
  return {.bytes = count, .then = Then::kTrailers};
}

void Http2Server::OnTurn() {
  Liveness::Watch watch(liveness_);
  // Moved out of the member: handlers may answer at once, which may add to it.
  for (const std::int32_t id : std::exchange(complete_, {})) {
    HandOver(id);
    if (!watch.alive()) return;
  }
  for (const std::int32_t id : std::exchange(head_waits_, {})) {
    Stream* stream = Find(id);
    if (stream != nullptr && !stream->head_sent) SubmitHead(id, *stream);
  }
}

void Http2Server::HandOver(std::int32_t id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;  // reset before it could be handled
  auto exchange = std::make_unique<Exchange>(*this, id, std::move(stream->request));
  stream->exchange = exchange.get();
  context_.handler.Handle(std::move(exchange));
}

void Http2Server::OnSessionEnd(const Status& status) {
  const auto on_end = context_.on_end;  // a copy: it may destroy this
  on_end(status);
}

void Http2Server::Head(std::int32_t id, int status, Headers headers) {
  Stream& stream = *Find(id);
  GALEN_CHECK(stream.status == 0);
  stream.status = status;
  stream.headers = std::move(headers);
  head_waits_.push_back(id);
  // The head waits for the end of the turn, when it is known whether a body follows.
  session_.SettleSoon();
}

// An answer that has already ended with nothing but its head goes out as one frame (gRPC calls
// that "trailers only").
void Http2Server::SubmitHead(std::int32_t id, Stream& stream) {
  stream.head_sent = true;
  Headers fields = {{":status", std::to_string(stream.status)}};
  for (Header& header : stream.headers) {
    // RFC 9113, section 8.2.2: a client would take the answer for malformed.
    if (header.name != "connection") fields.push_back(std::move(header));
  }
  stream.headers.clear();
  const bool empty = stream.ended && stream.queued == 0 && stream.trailers.empty();
  session_.SubmitResponse(id, fields, !empty);
}

void Http2Server::Write(std::int32_t id, std::string bytes) {
  Stream& stream = *Find(id);
  GALEN_CHECK(stream.status != 0 && !stream.ended);
  if (bytes.empty()) return;
  stream.queued += bytes.size();
  stream.queue.push_back(std::move(bytes));
  // Before that nghttp2 knows of no body that could go on.
  if (stream.head_sent) session_.ResumeBody(id);
}

void Http2Server::EndAnswer(std::int32_t id, Headers trailers) {
  Stream& stream = *Find(id);
  GALEN_CHECK(stream.status != 0 && !stream.ended);
  stream.ended = true;
  idle_since_ = context_.loop.Now();
  stream.trailers = std::move(trailers);
  if (stream.head_sent) session_.ResumeBody(id);
}

std::size_t Http2Server::Queued(std::int32_t id) { return Find(id)->queued; }

void Http2Server::Release(std::int32_t id) {
  Stream& stream = *Find(id);
  stream.exchange = nullptr;
  if (stream.ended) return;
  idle_since_ = context_.loop.Now();
  // The caller must not take half an answer for a whole one.
  session_.Reset(id, Http2Error::kInternal);
}

}  // namespace galen::net
