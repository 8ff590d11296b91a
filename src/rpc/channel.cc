#include "rpc/channel.h"

#include <utility>

#include "base/liveness.h"
#include "rpc/frame.h"
#include "rpc/wire.h"

namespace galen::rpc {
namespace {

net::HttpRequest MakeRequest(std::string_view method, std::string_view message) {
  // The order of PROTOCOL-HTTP2.md; "te: trailers" lets a proxy in between show that it would drop
  // the status.
  return {.method = "POST",
          .path = std::string(method),
          .headers = {{"te", "trailers"},
                      {"content-type", std::string(kContentType)},
                      {"user-agent", "galen"},
                      {"grpc-accept-encoding", "identity"}},
          .body = Frame(message)};
}

// Reads one answer: its messages, then its status. Either callback may destroy it.
class Answer final : private net::HttpResponseSink {
 public:
  using OnMessage = std::function<void(std::string_view)>;
  using OnStatus = std::function<void(const Status&)>;

  Answer(std::size_t message_bytes_max, OnMessage on_message, OnStatus on_status)
      : reader_(FrameReader::Side::kClient, message_bytes_max),
        on_message_(std::move(on_message)),
        on_status_(std::move(on_status)) {}

  void Ask(net::HttpClient& client, net::HttpRequest request) {
    http_ = client.Send(std::move(request), *this);
  }
  // Detaches from the server's answer and reports `status`.
  void Finish(const Status& status) {
    // First: cancels what is still under way, so that no callback comes after the end.
    http_.reset();
    const OnStatus on_status = std::move(on_status_);
    on_status(status);
  }

 private:
  void OnHead(int status, const net::Headers& headers) override {
    const auto type = net::FindHeader(headers, "content-type");
    // Anything else is a proxy or another server: its body is no messages, its status all we have.
    is_grpc_ = status == 200 && type && IsGrpcContentType(*type);
    in_head_ = StatusFromHeaders(headers);
    if (!is_grpc_ && !in_head_) in_head_ = StatusFromHttp(status);
  }

  void OnData(std::string_view bytes) override {
    if (!is_grpc_) return;
    reader_.Add(bytes);
    Liveness::Watch watch(liveness_);
    // A message may end the call, by its own callback or by Finish.
    while (watch.alive() && http_ != nullptr) {
      const StatusOr<std::optional<std::string_view>> message = reader_.Next();
      if (!message.ok()) return Finish(message.status());
      if (!message->has_value()) return;
      on_message_(**message);
    }
  }

  void OnEnd(const Status& status, const net::Headers& trailers) override {
    if (!status.ok()) return Finish(status);
    std::optional<Status> found = StatusFromHeaders(trailers);
    // "Trailers only": an answer without messages may have its status in the head.
    if (!found) found = in_head_;
    if (!found) return Finish({Code::kUnknown, "the server ended the answer without a status"});
    // A status other than OK may come at any place: the server gave up.
    if (found->ok() && !reader_.between_messages()) {
      return Finish(Internal("the server ended the answer in the middle of a message"));
    }
    Finish(*found);
  }

  // The callbacks come before http_, which dies first: nothing calls into what is gone.
  FrameReader reader_;
  const OnMessage on_message_;
  OnStatus on_status_;
  bool is_grpc_ = false;
  std::optional<Status> in_head_;
  std::unique_ptr<net::HttpCall> http_;
  Liveness liveness_;
};

class UnaryCall final : public Call {
 public:
  using Done = std::function<void(StatusOr<std::string>)>;

  UnaryCall(std::size_t message_bytes_max, Done done)
      : done_(std::move(done)),
        answer_(
            message_bytes_max, [this](std::string_view message) { OnMessage(message); },
            [this](const Status& status) { OnStatus(status); }) {}

  void Start(Loop& loop, net::HttpClient& client, net::HttpRequest request, Duration deadline) {
    deadline_ = loop.After(deadline, [this, deadline] {
      const auto seconds = std::chrono::duration<double>(deadline).count();
      answer_.Finish(DeadlineExceeded("no answer within {:g} s", seconds));
    });
    // So that a server need not finish what nobody waits for. Ours counts from here, its from
    // there.
    request.headers.push_back({"grpc-timeout", FormatTimeout(deadline)});
    answer_.Ask(client, std::move(request));
  }

 private:
  void OnMessage(std::string_view message) {
    if (response_) return answer_.Finish(Unimplemented("more than one message came as the answer"));
    response_ = message;
  }

  void OnStatus(const Status& status) {
    deadline_.Cancel();
    const Done done = std::move(done_);
    if (!status.ok()) return done(status);
    // As for several messages: statuscodes.md of gRPC, "response cardinality violation".
    if (!response_) return done(Unimplemented("the server said OK without a message"));
    done(*std::move(response_));
  }

  Done done_;
  std::optional<std::string> response_;
  Timer deadline_;
  Answer answer_;
};

class StreamCall final : public Call {
 public:
  StreamCall(std::size_t message_bytes_max, StreamSink& sink)
      : answer_(
            message_bytes_max, [&sink](std::string_view message) { sink.OnMessage(message); },
            [&sink](const Status& status) { sink.OnEnd(status); }) {}

  void Start(net::HttpClient& client, net::HttpRequest request) {
    answer_.Ask(client, std::move(request));
  }

 private:
  Answer answer_;
};

}  // namespace

Channel::Channel(Loop& loop, net::HttpClient& connection, Options options)
    : loop_(loop), connection_(connection), options_(options) {}

std::unique_ptr<Call> Channel::Unary(std::string_view method, std::string request,
                                     Duration deadline,
                                     std::function<void(StatusOr<std::string>)> done) {
  auto call = std::make_unique<UnaryCall>(options_.message_bytes_max, std::move(done));
  call->Start(loop_, connection_, MakeRequest(method, request), deadline);
  return call;
}

std::unique_ptr<Call> Channel::ServerStream(std::string_view method, std::string request,
                                            StreamSink& sink) {
  auto call = std::make_unique<StreamCall>(options_.message_bytes_max, sink);
  call->Start(connection_, MakeRequest(method, request));
  return call;
}

}  // namespace galen::rpc
