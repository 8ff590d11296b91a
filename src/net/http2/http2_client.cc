#include "net/http2/http2_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace galen::net {
namespace {

// A sentence; more would be the peer filling our log.
constexpr std::size_t kGoawayTextBytesMax = 200;

Headers RequestFields(const HttpRequest& request, const std::string& scheme,
                      const std::string& authority) {
  // RFC 9113, section 8.3.1: :authority instead of host, and pseudo headers first.
  const auto host = FindHeader(request.headers, "host");
  Headers fields = {{":method", request.method},
                    {":scheme", scheme},
                    {":authority", host ? std::string(*host) : authority},
                    {":path", request.path}};
  for (const Header& header : request.headers) {
    if (header.name != "host") fields.push_back(header);
  }
  // Some API servers and proxies refuse a body of unknown length.
  if (!request.body.empty() && !FindHeader(request.headers, "content-length")) {
    fields.push_back({"content-length", std::to_string(request.body.size())});
  }
  return fields;
}

int ParseStatus(std::string_view text) {
  int status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  return error == std::errc{} && end == text.data() + text.size() ? status : 0;
}

// Most resets say "try again"; the named ones say something else.
Status ResetStatus(Http2Error error, const std::string& peer) {
  std::string text = fmt::format("{} cut the answer off: {}", peer, ToString(error));
  // gRPC's mapping of errors (PROTOCOL-HTTP2.md, "Errors").
  switch (error) {
    case Http2Error::kCancel:
      return {Code::kCancelled, std::move(text)};
    case Http2Error::kEnhanceYourCalm:
      return {Code::kResourceExhausted, std::move(text)};
    case Http2Error::kInadequateSecurity:
      return {Code::kPermissionDenied, std::move(text)};
    case Http2Error::kNone:
    case Http2Error::kInternal:
    case Http2Error::kRefusedStream:
      break;
  }
  return {Code::kUnavailable, std::move(text)};
}

// A call on a connection that is already dead.
class DeadCall final : public HttpCall {
 public:
  // Ends the call in the next turn, since Send never calls the sink; unless the call is destroyed
  // before.
  DeadCall(Loop& loop, Status why, HttpResponseSink& sink)
      : timer_(loop.At(loop.Now(), [why = std::move(why), &sink] { sink.OnEnd(why, {}); })) {}

 private:
  Timer timer_;
};

}  // namespace

struct Http2Client::Stream {
  Call* call = nullptr;
  HttpResponseSink* sink = nullptr;
  // The request's body and how much of it has left.
  std::string body;
  std::size_t body_sent = 0;
  bool paced = false;
  int status = 0;
  Headers headers;
  Headers trailers;
  // Names and values so far, of preliminary answers, headers and trailers.
  std::size_t head_bytes = 0;
  // The head is complete: later header frames are trailers.
  bool head_done = false;
  // The sink then gets `outcome`; whatever still comes is ignored.
  bool ended = false;
  Status outcome;
};

class Http2Client::Call final : public HttpCall {
 public:
  Call(Http2Client& client, std::int32_t id) : client_(&client), id_(id) {}
  ~Call() override {
    if (client_ != nullptr) client_->Cancel(id_);
  }
  void Take(std::size_t bytes) override {
    if (client_ != nullptr) client_->session_.Consume(id_, bytes);
  }
  void Forget() { client_ = nullptr; }

 private:
  Http2Client* client_;
  const std::int32_t id_;
};

Http2Client::Http2Client(Loop& loop, std::unique_ptr<ByteStream> stream, Options options)
    : loop_(loop),
      options_(std::move(options)),
      session_(loop, std::move(stream),
               {.side = Http2Session::Options::Side::kClient,
                .lax_messages = false,
                .head_bytes_max = static_cast<std::uint32_t>(options_.head_bytes_max),
                .stream_window_bytes = options_.stream_window_bytes,
                .ping_after = options_.ping_after},
               *this) {
  session_.Start({});
}

Http2Client::~Http2Client() {
  for (auto& [id, stream] : streams_) stream.call->Forget();
}

std::unique_ptr<HttpCall> Http2Client::Send(HttpRequest request, HttpResponseSink& sink) {
  if (!usable_) return std::make_unique<DeadCall>(loop_, closed_, sink);
  const StatusOr<std::int32_t> id = session_.SubmitRequest(
      RequestFields(request, options_.scheme, options_.authority), !request.body.empty());
  if (!id.ok()) return std::make_unique<DeadCall>(loop_, id.status(), sink);
  auto call = std::make_unique<Call>(*this, *id);
  Stream& stream = streams_[*id];
  stream.call = call.get();
  stream.sink = &sink;
  stream.body = std::move(request.body);
  stream.paced = request.paced;
  return call;
}

void Http2Client::OnClosed(std::function<void(const Status&)> callback) {
  on_closed_ = std::move(callback);
  if (!session_.over()) return;
  late_closed_ = loop_.At(loop_.Now(), [this] {
    if (const auto on_closed = std::exchange(on_closed_, nullptr)) on_closed(closed_);
  });
}

Http2Client::Stream* Http2Client::Find(std::int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

void Http2Client::OnHeader(std::int32_t id, std::string_view name, std::string_view value) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->ended) return;
  stream->head_bytes += name.size() + value.size() + kFieldBytes;
  if (stream->head_bytes > options_.head_bytes_max) {
    // This stream alone: other calls on the connection are no worse for it.
    session_.Reset(id, Http2Error::kCancel);
    return EndOfAnswer(id, ResourceExhausted("{} answered with more than {} bytes of headers",
                                             options_.peer, options_.head_bytes_max));
  }
  if (name == ":status") {
    stream->status = ParseStatus(value);
  } else {
    Headers& headers = stream->head_done ? stream->trailers : stream->headers;
    headers.push_back({std::string(name), std::string(value)});
  }
}

void Http2Client::OnHeadersEnd(std::int32_t id, bool last) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->ended) return;
  if (!stream->head_done && stream->status / 100 == 1) {  // only a preliminary answer
    stream->headers.clear();
    return;
  }
  if (!stream->head_done) {
    stream->head_done = true;
    notes_.push_back({.kind = Note::Kind::kHead, .stream = id});
  }
  if (last) EndOfAnswer(id, OkStatus());
}

bool Http2Client::OnData(std::int32_t id, std::string_view bytes) {
  const Stream* stream = Find(id);
  if (stream == nullptr || stream->ended) return true;
  // Many frames of one turn are delivered as one piece.
  const bool joins =
      !notes_.empty() && notes_.back().kind == Note::Kind::kData && notes_.back().stream == id;
  if (joins) {
    notes_.back().size += bytes.size();
  } else {
    notes_.push_back({Note::Kind::kData, id, data_.size(), bytes.size()});
  }
  data_.append(bytes);
  return !stream->paced;
}

void Http2Client::OnDataEnd(std::int32_t id) { EndOfAnswer(id, OkStatus()); }

void Http2Client::OnStreamClosed(std::int32_t id, Http2Error error) {
  EndOfAnswer(id, ResetStatus(error, options_.peer));
}

void Http2Client::EndOfAnswer(std::int32_t id, Status status) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->ended) return;
  stream->ended = true;
  stream->outcome = std::move(status);
  notes_.push_back({.kind = Note::Kind::kEnd, .stream = id});
}

Http2Session::BodyPiece Http2Client::ReadBody(std::int32_t id, char* to, std::size_t size) {
  using Then = Http2Session::BodyPiece::Then;
  Stream* stream = Find(id);
  // Cancelled meanwhile; the reset follows.
  if (stream == nullptr) return {.bytes = 0, .then = Then::kEnd};
  const std::size_t count = stream->body.copy(to, size, stream->body_sent);
  stream->body_sent += count;
  if (stream->body_sent < stream->body.size()) return {.bytes = count, .then = Then::kMore};
  GiveBack(stream->body);
  stream->body_sent = 0;
  return {.bytes = count, .then = Then::kEnd};
}

void Http2Client::OnGoaway(Http2Error error, std::string_view text) {
  usable_ = false;
  goaway_ = fmt::format("{} is going away: {}", options_.peer, ToString(error));
  if (!text.empty()) goaway_ += " " + Shown(text, kGoawayTextBytesMax);
  // Unavailable: a peer that goes away processed nothing of what is new, so trying again is safe.
  closed_ = Unavailable("{}", goaway_);
  // Calls that still wait for a slot will get none, and the open ones may last for days.
  for (const auto& [id, stream] : streams_) {
    if (!session_.HasLeft(id)) EndOfAnswer(id, closed_);
  }
}

void Http2Client::OnTurn() {
  // Moved out of the members: the sinks' callbacks may send, cancel or destroy this.
  const std::vector<Note> notes = std::exchange(notes_, {});
  const std::string data = std::exchange(data_, {});
  Liveness::Watch watch(liveness_);
  if (settled_ && on_ready_) std::exchange(on_ready_, nullptr)();
  for (const Note& note : notes) {
    if (!watch.alive()) return;
    Deliver(note, data);
  }
}

void Http2Client::Deliver(const Note& note, std::string_view data) {
  Stream* stream = Find(note.stream);
  if (stream == nullptr) return;  // cancelled by an earlier sink's callback
  switch (note.kind) {
    case Note::Kind::kHead: {
      const Headers headers = std::exchange(stream->headers, {});
      return stream->sink->OnHead(stream->status, headers);
    }
    case Note::Kind::kData:
      return stream->sink->OnData(data.substr(note.begin, note.size));
    case Note::Kind::kEnd:
      return DeliverEnd(note.stream);
  }
}

void Http2Client::DeliverEnd(std::int32_t id) {
  // Taken out of the map first: the sink may destroy its call or send another.
  auto node = streams_.extract(id);
  Stream& stream = node.mapped();
  stream.call->Forget();
  // The answer is complete while we still send: what is left has no reader.
  if (!stream.body.empty()) session_.Reset(id, Http2Error::kNone);
  stream.sink->OnEnd(stream.outcome, stream.trailers);
}

void Http2Client::Cancel(std::int32_t id) {
  const auto node = streams_.extract(id);
  // Nothing is left to take back: the peer has ended the stream, and so have we.
  if (node.mapped().ended && node.mapped().body.empty()) return;
  session_.Reset(id, Http2Error::kCancel);
}

void Http2Client::OnSessionEnd(const Status& status) {
  usable_ = false;
  closed_ = goaway_.empty() ? Annotate(status, "connection to {}", options_.peer) : closed_;
  Liveness::Watch watch(liveness_);
  // Calls first, then the connection, as Connection promises.
  while (!streams_.empty()) {
    Stream& stream = streams_.begin()->second;
    stream.outcome = closed_;
    DeliverEnd(streams_.begin()->first);
    if (!watch.alive()) return;
  }
  if (const auto on_closed = std::exchange(on_closed_, nullptr)) on_closed(closed_);
}

}  // namespace galen::net
