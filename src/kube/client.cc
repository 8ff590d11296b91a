#include "kube/client.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"

namespace galen::kube {
namespace {

// Enough of a proxy's error page to know whose it is.
constexpr std::size_t kForeignTextBytesMax = 200;

Code CodeOf(int http_status, std::string_view reason) {
  switch (http_status) {
    case 400:
    case 413:
    case 422:
      return Code::kInvalidArgument;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 405:
    case 406:
    case 415:
    case 501:
      return Code::kUnimplemented;
    case 408:
      return Code::kDeadlineExceeded;
    // A conflict of versions: read again and try again. A name that is taken stays taken.
    case 409:
      return reason == "AlreadyExists" ? Code::kAlreadyExists : Code::kAborted;
    // OutOfRange, which nobody retries by chance: the version is gone, only a fresh list helps.
    case 410:
      return Code::kOutOfRange;
    case 429:
      return Code::kResourceExhausted;
    default:
      return http_status >= 500 ? Code::kUnavailable : Code::kUnknown;
  }
}

// Servers fold lists of causes into several lines; ours is one sentence.
std::string OneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return Printable(text);
}

// Whether a patch was refused because it names the uid of another object than the one that has the
// name now. The server says so as of any field that may not change (422); to whoever wrote the
// patch it is a conflict.
bool MeansAnotherObject(int http_status, const Json& object) {
  const Json::Array& causes = object["details"]["causes"].items();
  return http_status == 422 && std::ranges::any_of(causes, [](const Json& cause) {
           return cause["field"].AsString() == "metadata.uid";
         });
}

Status Describe(int http_status, const Json& object) {
  const std::string& message = object["message"].AsString();
  const std::string& reason = object["reason"].AsString();
  const Code code =
      MeansAnotherObject(http_status, object) ? Code::kAborted : CodeOf(http_status, reason);
  if (!message.empty()) return {code, OneLine(message)};
  return {code, fmt::format("HTTP {} {}", http_status, OneLine(reason))};
}

// One Do: collects the answer, repeats it when the server says when, gives up at the deadline.
// Belongs to the client's loop.
class JsonCall final : public net::HttpCall, private net::HttpResponseSink {
 public:
  using Done = std::function<void(StatusOr<Json>)>;

  JsonCall(Loop& loop, net::HttpClient& transport, net::HttpRequest request, Done done)
      : loop_(loop),
        transport_(transport),
        request_(std::move(request)),
        done_(std::move(done)),
        deadline_at_(loop.Now() + Client::kDeadline) {
    // One timer for all tries: repeated calls must not add up to more.
    deadline_ = loop_.At(deadline_at_, [this] { Expire(); });
    Send();
  }

 private:
  void Send();
  // The deadline: cancels whatever is under way.
  void Expire();
  void Fail(Status status);
  // The only way out: every end goes through here, once.
  void Finish(StatusOr<Json> result);
  // Whether the answer asks for another try and there is time for one; then it is under way.
  bool RepeatLater();

  void OnHead(int status, const net::Headers& headers) override;
  void OnData(std::string_view bytes) override;
  void OnEnd(const Status& status, const net::Headers& trailers) override;

  Loop& loop_;
  net::HttpClient& transport_;
  const net::HttpRequest request_;
  Done done_;
  const Time deadline_at_;
  Timer deadline_;
  Timer again_;
  int repeated_ = 0;

  int http_status_ = 0;
  // Valid for the present try, like http_status_ and body_; Send clears all three.
  std::optional<Duration> retry_after_;
  std::string body_;
  std::unique_ptr<net::HttpCall> call_;
};

void JsonCall::Send() {
  http_status_ = 0;
  retry_after_.reset();
  body_.clear();
  call_ = transport_.Send(request_, *this);
}

void JsonCall::Expire() {
  // Distinguishes a server that is silent from one that is slow.
  const std::string what = http_status_ == 0 ? "no answer" : "no whole answer";
  Fail(DeadlineExceeded(
      "{} after {} s", what,
      std::chrono::duration_cast<std::chrono::seconds>(Client::kDeadline).count()));
}

// Names the request: the error itself does not.
void JsonCall::Fail(Status status) {
  Finish(
      Annotate(status, "{} {}", request_.method, request_.path.substr(0, request_.path.find('?'))));
}

void JsonCall::Finish(StatusOr<Json> result) {
  deadline_.Cancel();
  again_.Cancel();
  call_.reset();
  const Done done = std::move(done_);  // it may destroy this call
  done(std::move(result));
}

void JsonCall::OnHead(int status, const net::Headers& headers) {
  http_status_ = status;
  retry_after_ = RetryAfter(headers);
}

void JsonCall::OnData(std::string_view bytes) {
  if (body_.size() + bytes.size() > Client::kResponseBytesMax) {
    return Fail(ResourceExhausted("the answer is longer than {} bytes; ask for fewer objects",
                                  Client::kResponseBytesMax));
  }
  body_ += bytes;
}

bool JsonCall::RepeatLater() {
  const bool asked_to = (http_status_ == 429 || http_status_ == 503) && retry_after_;
  if (!asked_to || repeated_ >= Client::kRetriesMax) return false;
  // Waiting would only end in a timeout; the caller gets the server's own message instead.
  if (loop_.Now() + *retry_after_ >= deadline_at_) return false;
  ++repeated_;
  again_ = loop_.After(*retry_after_, [this] { Send(); });
  return true;
}

void JsonCall::OnEnd(const Status& status, const net::Headers&) {
  if (!status.ok()) return Finish(status);  // the transport says whole sentences
  if (RepeatLater()) return;
  if (http_status_ < 200 || http_status_ > 299) {
    return Finish(StatusOfResponse(http_status_, body_));
  }
  // A success may have an empty body.
  if (body_.empty()) return Finish(Json());
  StatusOr<Json> object = Json::Parse(body_);
  if (!object.ok()) return Fail(DataLoss("the answer is not JSON: {}", object.status().message()));
  Finish(std::move(object));
}

}  // namespace

Client::Client(Loop& loop, net::HttpClient& transport) : loop_(loop), transport_(transport) {}

std::unique_ptr<net::HttpCall> Client::Do(net::HttpRequest request,
                                          std::function<void(StatusOr<Json>)> done) {
  return std::make_unique<JsonCall>(loop_, transport_, std::move(request), std::move(done));
}

Status StatusOfResponse(int http_status, std::string_view body) {
  const StatusOr<Json> object = Json::Parse(body);
  // Only a Status is Kubernetes' own answer; a load balancer's 404 page may be JSON as well.
  if (object.ok() && (*object)["kind"].AsString() == "Status") {
    return Describe(http_status, *object);
  }
  const Code code = CodeOf(http_status, "");
  if (body.empty()) return {code, fmt::format("HTTP {}", http_status)};
  return {code, fmt::format("HTTP {}: {}", http_status,
                            OneLine(CutText(ToValidUtf8(body), kForeignTextBytesMax)))};
}

std::optional<Duration> RetryAfter(const net::Headers& headers) {
  const auto value = net::FindHeader(headers, "retry-after");
  if (!value) return std::nullopt;
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), seconds);
  if (error != std::errc() || end != value->data() + value->size()) return std::nullopt;
  return std::chrono::seconds(seconds);
}

Status StatusOfObject(const Json& object) {
  return Describe(static_cast<int>(object["code"].AsInt()), object);
}

}  // namespace galen::kube
