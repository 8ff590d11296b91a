#include "net/http1/http1_server.h"

#include <algorithm>
#include <utility>

#include "net/exchange_notices.h"

namespace galen::net {
namespace {

// Bytes that a client may send before its last request is answered; past it the connection ends.
constexpr std::size_t kAheadBytesMax = 64 * 1024;
// Bytes handed to the socket at once; the rest waits here, where it counts as queued.
constexpr std::size_t kWriteBytesMax = 64 * 1024;
// After a refusal the rest of the request is read and dropped for so long: closing at once would
// make the kernel drop the answer before the client has read it.
constexpr Duration kLinger = std::chrono::seconds(1);

}  // namespace

class Http1Server::Exchange final : public HttpExchange {
 public:
  Exchange(Http1Server& server, HttpRequest request)
      : server_(&server),
        request_(std::move(request)),
        peer_(server.context_.peer),
        notices_(server.context_.loop) {}
  ~Exchange() override {
    if (server_ != nullptr) server_->Release();
  }

  const HttpRequest& request() const override { return request_; }
  std::optional<PeerCredentials> peer() const override { return peer_; }
  void Head(int status, Headers headers) override {
    if (server_ != nullptr) server_->Head(status, headers);
  }
  void Write(std::string bytes) override {
    if (server_ != nullptr) server_->Write(bytes);
  }
  void End(Headers trailers) override {
    if (server_ != nullptr) server_->EndAnswer(trailers);
  }
  std::size_t queued() const override { return server_ != nullptr ? server_->queued() : 0; }
  void OnDrained(std::function<void()> callback) override {
    notices_.SetOnDrained(std::move(callback));
  }
  void OnGone(std::function<void()> callback) override { notices_.SetOnGone(std::move(callback)); }

  void Drained() { notices_.Drained(); }
  // The connection goes on without this exchange, or has ended.
  void Detach(bool gone) {
    server_ = nullptr;
    if (gone) notices_.Gone();
  }

 private:
  Http1Server* server_;
  const HttpRequest request_;
  const std::optional<PeerCredentials> peer_;
  ExchangeNotices notices_;
};

Http1Server::Http1Server(SessionContext context, std::unique_ptr<ByteStream> stream)
    : context_(std::move(context)), stream_(std::move(stream)), idle_since_(context_.loop.Now()) {}

Http1Server::~Http1Server() {
  // A complete answer does not count as cut off, even when not all of it arrived.
  if (exchange_ != nullptr) exchange_->Detach(!answer_->ended());
}

void Http1Server::Start(std::string_view first) {
  ExpectRequest();
  stream_->SetSink(*this);
  OnBytes(first);
}

void Http1Server::ExpectRequest() {
  phase_ = Phase::kRequest;
  answer_.reset();
  reader_ = std::make_unique<Http1RequestReader>(
      Http1RequestReader::Limits{.head_bytes_max = context_.limits.head_bytes_max,
                                 .body_bytes_max = context_.limits.request_body_bytes_max});
  timeout_ = context_.loop.After(context_.limits.request_timeout, [this] {
    End(DeadlineExceeded("no whole request came in time"));
  });
}

void Http1Server::Drain() {
  draining_ = true;
  // A request that has begun is still answered, and the answer says "connection: close".
  if (phase_ == Phase::kRequest && !reader_->started()) EndSoon("the server stops");
}

std::optional<Time> Http1Server::idle_since() const {
  if (phase_ == Phase::kAnswer && !answer_->ended()) return std::nullopt;
  return idle_since_;
}

void Http1Server::OnBytes(std::string_view bytes) {
  switch (phase_) {
    case Phase::kRequest:
      return Read(bytes);
    case Phase::kAnswer:
      if (waiting_.size() + bytes.size() > kAheadBytesMax) {
        return End(ResourceExhausted("the client sends too much ahead of its answers"));
      }
      waiting_.append(bytes);
      return;
    case Phase::kLinger:
      return;
  }
}

void Http1Server::Read(std::string_view bytes) {
  const std::size_t taken = reader_->Read(bytes);
  // RFC 9110, section 10.1.1. curl waits a second for it before it sends a large body.
  if (reader_->TakeExpectation()) stream_->Write("HTTP/1.1 100 Continue\r\n\r\n");
  switch (reader_->state()) {
    case Http1RequestReader::State::kReading:
      return;
    case Http1RequestReader::State::kComplete:
      waiting_.assign(bytes.substr(std::min(taken, bytes.size())));
      return HandOver();
    case Http1RequestReader::State::kRefused:
      return Refuse();
  }
}

void Http1Server::HandOver() {
  phase_ = Phase::kAnswer;
  timeout_.Cancel();
  HttpRequest request = reader_->TakeRequest();
  answer_.emplace(Http1AnswerWriter::Options{.head_only = request.method == "HEAD",
                                             .is_http_1_0 = reader_->is_http_1_0(),
                                             .keep_alive = reader_->keep_alive() && !draining_});
  auto exchange = std::make_unique<Exchange>(*this, std::move(request));
  exchange_ = exchange.get();
  // Called last: the handler may answer at once, and the answer may end this connection.
  context_.handler.Handle(std::move(exchange));
}

void Http1Server::Refuse() {
  phase_ = Phase::kLinger;
  // Even a client that sends without end is cut off then.
  timeout_ = context_.loop.After(kLinger, [this] { End(InvalidArgument("a refused request")); });
  const std::string text = reader_->refusal() + "\n";
  Http1AnswerWriter writer({.head_only = false, .is_http_1_0 = false, .keep_alive = false});
  std::string answer = writer.Head(
      reader_->refusal_status(),
      {{"content-type", "text/plain"}, {"content-length", std::to_string(text.size())}});
  Queue(answer + writer.Body(text));
}

void Http1Server::Queue(std::string bytes) {
  if (bytes.empty()) return;
  queued_ += bytes.size();
  queue_.push_back(std::move(bytes));
  Pump();
}

void Http1Server::Pump() {
  // Only when the socket has taken everything before: what is left waits in queue_, which queued()
  // counts.
  while (stream_->unsent() == 0 && !queue_.empty()) {
    const std::string_view left = std::string_view(queue_.front()).substr(front_sent_);
    const std::string_view piece = left.substr(0, kWriteBytesMax);
    stream_->Write(piece);
    queued_ -= piece.size();
    front_sent_ += piece.size();
    if (piece.size() < left.size()) continue;
    queue_.pop_front();
    front_sent_ = 0;
  }
  if (queued() > 0 && phase_ == Phase::kAnswer && answer_->ended()) ExpectReading();
  // Drained and done are notified only for an answer, not for a refusal.
  if (queued() > 0 || phase_ != Phase::kAnswer) return;
  if (exchange_ != nullptr && std::exchange(body_written_, false)) exchange_->Drained();
  if (answer_->ended()) AnswerDone();
}

// Restarts the time in which the client has to take the next piece.
void Http1Server::ExpectReading() {
  timeout_ = context_.loop.After(context_.limits.request_timeout, [this] {
    End(DeadlineExceeded("the client did not take the rest of its answer in time"));
  });
}

void Http1Server::AnswerDone() {
  // The turn that follows is on its way already.
  if (next_) return;
  if (exchange_ != nullptr) std::exchange(exchange_, nullptr)->Detach(/*gone=*/false);
  if (answer_->keep_alive() && !draining_) return NextSoon();
  EndSoon("the last answer was sent");
}

// Waits for the next turn, because we may be inside a call of the handler's.
void Http1Server::NextSoon() {
  next_ = context_.loop.At(context_.loop.Now(), [this] {
    const Timer ran = std::exchange(next_, Timer());
    ExpectRequest();
    const std::string waiting = std::exchange(waiting_, {});
    if (!waiting.empty()) Read(waiting);
  });
}

void Http1Server::EndSoon(std::string why) {
  // Replaces a next request that was about to be read: the end wins.
  next_ = context_.loop.At(context_.loop.Now(),
                           [this, why = std::move(why)] { End(Unavailable("{}", why)); });
}

void Http1Server::End(const Status& status) {
  const auto on_end = context_.on_end;  // a copy: it may destroy this
  on_end(status);
}

void Http1Server::Head(int status, const Headers& headers) {
  Queue(answer_->Head(status, headers));
}

void Http1Server::Write(std::string_view bytes) {
  body_written_ = true;
  Queue(answer_->Body(bytes));
}

void Http1Server::EndAnswer(const Headers& trailers) {
  idle_since_ = context_.loop.Now();
  std::string last = answer_->End(trailers);
  // Nothing to send: the answer may be through already.
  if (last.empty()) return Pump();
  Queue(std::move(last));
}

void Http1Server::Release() {
  exchange_ = nullptr;
  if (!answer_->ended()) EndSoon("the answer was cut off");
}

}  // namespace galen::net
