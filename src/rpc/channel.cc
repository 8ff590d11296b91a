#include "rpc/channel.h"

#include <algorithm>
#include <cstdint>
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

// How an answer is read whose messages are taken one at a time, so that long ones wait at the
// sender.
struct Pace {
  // Messages above half of it are long: nghttp2 reopens a window only once half of it is used.
  std::size_t window_bytes = 0;
  std::function<void(std::size_t)> on_long;
  std::function<void()> on_ending;
};

// Reads one answer: its messages, then its status. Either callback may destroy it.
class Answer final : private net::HttpResponseSink {
 public:
  using OnMessage = std::function<void(std::string_view)>;
  using OnStatus = std::function<void(const Status&)>;

  Answer(std::size_t message_bytes_max, OnMessage on_message, OnStatus on_status,
         std::optional<Pace> pace = std::nullopt)
      : reader_(FrameReader::Side::kClient, message_bytes_max),
        on_message_(std::move(on_message)),
        on_status_(std::move(on_status)),
        pace_(std::move(pace)) {}

  void Ask(net::HttpClient& client, net::HttpRequest request) {
    request.paced = pace_.has_value();
    http_ = client.Send(std::move(request), *this);
  }
  // Detaches from the server's answer and reports `status`.
  void Finish(const Status& status) {
    // First: cancels what is still under way, so that no callback comes after the end.
    http_.reset();
    const OnStatus on_status = std::move(on_status_);
    on_status(status);
  }
  // What follows is for answers with a Pace only.
  void Next() {
    waits_ = announced_ = false;
    GiveBack(delivered_);
    reader_.Add(std::exchange(held_, {}));
    DeliverMessages();
  }
  void Admit() {
    const std::optional<std::size_t> awaited = reader_.awaited();
    if (waits_ || !awaited) return;
    admitted_ = delivered_ + *awaited;
    GiveBack(std::min(received_, admitted_));
  }

 private:
  void OnHead(int status, const net::Headers& headers) override {
    const auto type = net::FindHeader(headers, "content-type");
    // Anything else is a proxy or another server: its body holds no messages.
    is_grpc_ = status == 200 && type && IsGrpcContentType(*type);
    in_head_ = StatusFromHeaders(headers);
    if (!is_grpc_ && !in_head_) in_head_ = StatusFromHttp(status);
  }

  void OnData(std::string_view bytes) override {
    received_ += bytes.size();
    if (!is_grpc_) return GiveBack(received_);
    GiveBack(std::min(received_, admitted_));
    if (waits_) {
      // The message that is being read borrows the reader's bytes, so these wait.
      held_.append(bytes);
      return;
    }
    reader_.Add(bytes);
    DeliverMessages();
  }

  void DeliverMessages() {
    Liveness::Watch watch(liveness_);
    // A message may end the call, by its own callback or by Finish.
    while (watch.alive() && http_ != nullptr && !waits_) {
      const StatusOr<std::optional<std::string_view>> message = reader_.Next();
      if (!message.ok()) return Finish(message.status());
      if (!message->has_value()) return OnNoMessage();
      delivered_ += kFrameHeadBytes + (*message)->size();
      waits_ = pace_.has_value();
      on_message_(**message);
    }
  }

  void OnNoMessage() {
    if (!pace_) return;
    if (end_) return Conclude(end_->first, end_->second);
    const std::size_t awaited = reader_.awaited().value_or(0);
    if (awaited <= pace_->window_bytes / 2 || std::exchange(announced_, true)) return;
    pace_->on_long(awaited);
  }

  // Gives window back to the server for the answer's bytes up to `position`, each byte once.
  void GiveBack(std::uint64_t position) {
    if (!pace_ || position <= given_back_) return;
    http_->Take(static_cast<std::size_t>(position - given_back_));
    given_back_ = position;
  }

  void OnEnd(const Status& status, const net::Headers& trailers) override {
    if (!waits_) return Conclude(status, trailers);
    end_.emplace(status, trailers);
    pace_->on_ending();
  }

  void Conclude(const Status& status, const net::Headers& trailers) {
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
  const std::optional<Pace> pace_;
  std::optional<Status> in_head_;
  bool waits_ = false;      // for Next
  bool announced_ = false;  // the long message that is under way
  // Positions in the answer's bytes: what has come, the end of the message that was delivered last,
  // the end of a long one that was admitted, what was given back.
  std::uint64_t received_ = 0, delivered_ = 0, admitted_ = 0, given_back_ = 0;
  std::string held_;  // came while a message waited to be read
  std::optional<std::pair<Status, net::Headers>> end_;
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

class PacedCall final : public Call {
 public:
  PacedCall(const Channel::Options& options, StreamSink& sink)
      : answer_(
            options.message_bytes_max,
            [&sink](std::string_view message) { sink.OnMessage(message); },
            [&sink](const Status& status) { sink.OnEnd(status); },
            Pace{.window_bytes = options.stream_window_bytes,
                 .on_long = [&sink](std::size_t bytes) { sink.OnLongMessage(bytes); },
                 .on_ending = [&sink] { sink.OnEnding(); }}) {}

  void Start(net::HttpClient& client, net::HttpRequest request) {
    answer_.Ask(client, std::move(request));
  }
  void Next() override { answer_.Next(); }
  void Admit() override { answer_.Admit(); }

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

std::unique_ptr<Call> Channel::PacedStream(std::string_view method, std::string request,
                                           StreamSink& sink) {
  auto call = std::make_unique<PacedCall>(options_, sink);
  call->Start(connection_, MakeRequest(method, request));
  return call;
}

}  // namespace galen::rpc
