#include "rpc/service.h"

#include <utility>

#include "base/check.h"
#include "rpc/frame.h"
#include "rpc/wire.h"

namespace galen::rpc {
namespace {

net::Headers AnswerHeaders() { return {{"content-type", std::string(kContentType)}}; }

// An answer that is only a status: everything in the head.
void EndWithStatus(net::HttpExchange& exchange, const Status& status) {
  net::Headers headers = AnswerHeaders();
  for (net::Header& header : StatusHeaders(status)) headers.push_back(std::move(header));
  exchange.Head(200, std::move(headers));
  exchange.End();
}

// The one message that a request of either kind holds.
StatusOr<std::string> ReadRequest(std::string_view body, std::size_t message_bytes_max) {
  FrameReader reader(FrameReader::Side::kServer, message_bytes_max);
  reader.Add(body);
  ASSIGN_OR_RETURN(const std::optional<std::string_view> first, reader.Next());
  if (first && reader.between_messages()) return std::string(*first);
  if (!first && !body.empty()) return Internal("the request ends in the middle of a message");
  // gRPC's code for a wrong number of messages (statuscodes.md: cardinality violation).
  return Unimplemented("the request holds {} messages, it must hold one", first ? "several" : "no");
}

class ExchangeWriter final : public StreamWriter {
 public:
  explicit ExchangeWriter(std::unique_ptr<net::HttpExchange> exchange)
      : exchange_(std::move(exchange)) {}
  ~ExchangeWriter() override {
    if (!finished_) Finish(Unavailable("the server ended the stream"));
  }

  void Write(std::string message) override {
    GALEN_CHECK(!finished_);
    SendHead();
    exchange_->Write(Frame(message));
  }

  void Finish(const Status& status) override {
    GALEN_CHECK(!std::exchange(finished_, true));
    // A stream that fails before its first message is "trailers only", as a unary call's error is.
    if (!has_head_) return EndWithStatus(*exchange_, status);
    exchange_->End(StatusHeaders(status));
  }

  bool drained() const override { return exchange_->queued() == 0; }
  void OnDrained(std::function<void()> callback) override {
    exchange_->OnDrained(std::move(callback));
  }
  void OnGone(std::function<void()> callback) override { exchange_->OnGone(std::move(callback)); }

 private:
  void SendHead() {
    if (!std::exchange(has_head_, true)) exchange_->Head(200, AnswerHeaders());
  }

  const std::unique_ptr<net::HttpExchange> exchange_;
  bool has_head_ = false;
  bool finished_ = false;
};

// Whether this is gRPC at all; if not, it has been answered with a plain HTTP error.
bool AnswerIfNotGrpc(net::HttpExchange& exchange) {
  const net::HttpRequest& request = exchange.request();
  const auto type = net::FindHeader(request.headers, "content-type");
  // For people with curl, and for probes that knock at the wrong port.
  if (request.method != "POST") {
    net::Respond(exchange, 405, "text/plain", "this is a gRPC server: use POST\n");
    return true;
  }
  if (type && IsGrpcContentType(*type)) return false;
  net::Respond(exchange, 415, "text/plain", "the content type must be application/grpc\n");
  return true;
}

}  // namespace

// An answer that is due. Ends with INTERNAL when it goes unanswered.
class Reply::Owed {
 public:
  Owed(Loop& loop, std::unique_ptr<net::HttpExchange> exchange) : exchange_(std::move(exchange)) {
    // Nobody waits any more: the exchange goes, the method's Reply stays and does nothing.
    exchange_->OnGone([this] { Drop(); });
    const auto timeout = net::FindHeader(exchange_->request().headers, "grpc-timeout");
    const auto duration = timeout ? ParseTimeout(*timeout) : std::nullopt;
    if (!duration || *duration > kTimeoutMax) return;
    deadline_ = loop.After(*duration, [this] {
      End(DeadlineExceeded("the method did not answer within the caller's deadline"));
    });
  }
  Owed(const Owed&) = delete;
  Owed& operator=(const Owed&) = delete;
  ~Owed() { End(Internal("the method ended without an answer")); }

  void End(const StatusOr<std::string>& answer) {
    // Answered already, timed out, or the caller is gone.
    if (exchange_ == nullptr) return;
    if (answer.ok()) {
      exchange_->Head(200, AnswerHeaders());
      exchange_->Write(Frame(*answer));
      exchange_->End(StatusHeaders(OkStatus()));
    } else {
      EndWithStatus(*exchange_, answer.status());
    }
    Drop();
  }

 private:
  // Longer ones are no deadline at all, and would overflow a clock.
  static constexpr Duration kTimeoutMax = std::chrono::hours(24 * 365);

  void Drop() {
    deadline_.Cancel();
    exchange_.reset();
  }

  std::unique_ptr<net::HttpExchange> exchange_;
  Timer deadline_;
};

Reply::Reply() = default;
Reply::Reply(std::unique_ptr<Owed> owed) : owed_(std::move(owed)) {}
Reply::Reply(Reply&& other) noexcept = default;
Reply& Reply::operator=(Reply&& other) noexcept = default;
Reply::~Reply() = default;

void Reply::operator()(const StatusOr<std::string>& answer) const { owed_->End(answer); }

void Dispatcher::AddUnary(std::string path, UnaryMethod method) {
  GALEN_CHECK(!streams_.contains(path));
  const bool added = unary_.emplace(std::move(path), std::move(method)).second;
  GALEN_CHECK(added);
}

void Dispatcher::AddStream(std::string path, StreamMethod method) {
  GALEN_CHECK(!unary_.contains(path));
  const bool added = streams_.emplace(std::move(path), std::move(method)).second;
  GALEN_CHECK(added);
}

void Dispatcher::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  if (AnswerIfNotGrpc(*exchange)) return;
  const net::HttpRequest& request = exchange->request();
  const auto unary = unary_.find(request.path);
  const auto stream = streams_.find(request.path);
  if (unary == unary_.end() && stream == streams_.end()) {
    return EndWithStatus(*exchange, Unimplemented("there is no method {} here", request.path));
  }
  const StatusOr<std::string> message = ReadRequest(request.body, options_.message_bytes_max);
  if (!message.ok()) return EndWithStatus(*exchange, message.status());
  const Caller caller{.credentials = exchange->peer()};
  if (stream != streams_.end()) {
    return stream->second(*message, caller, std::make_unique<ExchangeWriter>(std::move(exchange)));
  }
  unary->second(*message, caller, Reply(std::make_unique<Reply::Owed>(loop_, std::move(exchange))));
}

}  // namespace galen::rpc
