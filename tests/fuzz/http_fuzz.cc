// Both ends of a connection against a peer that is only bytes. The first byte says how they are
// cut.
#include "base/check.h"
#include "base/loop/fake_loop.h"
#include "net/endpoint/accepted.h"
#include "net/endpoint/proxy_tunnel.h"
#include "net/fake_memory_stream.h"
#include "net/fake_recording_sink.h"
#include "net/http2/http2_client.h"
#include "rpc/channel.h"
#include "rpc/service.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

// Answers at once, with more than the request had.
class EchoHandler final : public net::HttpHandler {
 public:
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override {
    const net::HttpRequest& request = exchange->request();
    // Line breaks in a header would be a second header to whoever writes HTTP/1.1 next.
    for (const net::Header& header : request.headers) {
      GALEN_CHECK(header.value.find_first_of("\r\n") == std::string::npos);
    }
    net::Respond(*exchange, 200, "text/plain", request.method + request.path + request.body);
  }
};

// Writes the bytes and lets time pass for whatever waits.
void Say(FakeLoop& loop, net::ByteStream& stream, Input& input, std::size_t piece) {
  while (!input.empty()) {
    stream.Write(input.Piece(piece));
    loop.RunUntilIdle();
  }
  loop.Advance(std::chrono::seconds(100));
}

}  // namespace

void FuzzHttp2Client(std::string_view bytes) {
  Input input(bytes);
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  FakeLoop loop;
  net::MemoryStream::Pair pair = net::MemoryStream::Make(loop);
  net::RecordingByteSink server;
  pair.left->SetSink(server);
  net::RecordingSink first, second;
  {
    net::Http2Client client(loop, std::move(pair.right), {.peer = "unix:/s"});
    bool closed = false;
    client.OnClosed([&closed](const Status& why) {
      GALEN_CHECK(!why.ok() && !closed);
      closed = true;
    });
    const auto one = client.Send({.path = "/one"}, first);
    const auto two = client.Send({.method = "POST", .path = "/two", .body = "body"}, second);
    loop.RunUntilIdle();
    Say(loop, *pair.left, input, piece);
    // A call's end is reported once at most, and always when the connection has ended.
    GALEN_CHECK(first.ends() <= 1 && second.ends() <= 1);
    if (closed) GALEN_CHECK(first.ended() && second.ended() && !client.usable());
  }
  loop.RunUntilIdle();
}

namespace {

// A connection that is accepted, and its client's bytes; ends within the deadlines of a client that
// says nothing more.
void Serve(FakeLoop& loop, net::HttpHandler& handler, Input& input,
           const net::Accepted::Options& options) {
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  net::MemoryStream::Pair pair = net::MemoryStream::Make(loop);
  net::RecordingByteSink client;
  pair.left->SetSink(client);
  std::unique_ptr<net::Accepted> accepted;
  int ends = 0;
  accepted =
      std::make_unique<net::Accepted>(net::SessionContext{.loop = loop,
                                                          .handler = handler,
                                                          .limits = {.request_body_bytes_max = 4096,
                                                                     .waiting_bytes_max = 8192,
                                                                     .head_bytes_max = 4096,
                                                                     .heads_bytes_max = 8192,
                                                                     .streams_max = 8},
                                                          .peer = std::nullopt,
                                                          .on_end =
                                                              [&](const Status&) {
                                                                ++ends;
                                                                accepted.reset();
                                                              }},
                                      std::move(pair.right), options);
  Say(loop, *pair.left, input, piece);
  pair.left.reset();
  loop.Advance(std::chrono::seconds(200));
  GALEN_CHECK(ends == 1 && accepted == nullptr);
}

constexpr std::size_t kCallBytesMax = 1000;

// Ends once at the most, and with no message past the limit.
class MessageSink final : public rpc::StreamSink {
 public:
  void OnMessage(std::string_view message) override {
    GALEN_CHECK(ends == 0 && message.size() <= kCallBytesMax);
  }
  void OnEnd(const Status&) override { ++ends; }

  int ends = 0;
};

}  // namespace

void FuzzHttpServer(std::string_view bytes) {
  Input input(bytes);
  FakeLoop loop;
  EchoHandler handler;
  Serve(loop, handler, input, {});
}

// As every unix socket of ours is served: old clients' requests pass, and gRPC reads them.
void FuzzGrpcServer(std::string_view bytes) {
  Input input(bytes);
  FakeLoop loop;
  rpc::Dispatcher dispatcher(loop, {.message_bytes_max = kCallBytesMax});
  std::vector<Timer> late;
  std::vector<std::unique_ptr<rpc::StreamWriter>> kept;
  dispatcher.AddUnary("/t.T/Echo", [](std::string_view request, const rpc::Caller&, auto reply) {
    GALEN_CHECK(request.size() <= kCallBytesMax);
    reply(std::string(request));
  });
  dispatcher.AddUnary("/t.T/Late", [&](std::string_view, const rpc::Caller&, rpc::Reply reply) {
    late.push_back(loop.After(std::chrono::seconds(5), [reply = std::move(reply)] {
      reply(NotFound("too late for many"));
    }));
  });
  dispatcher.AddStream("/t.T/List", [](std::string_view request, const rpc::Caller&, auto writer) {
    writer->Write(std::string(request));
    writer->Finish(OkStatus());
  });
  dispatcher.AddStream("/t.T/Hold", [&](std::string_view request, const rpc::Caller&, auto writer) {
    writer->Write(std::string(request));
    kept.push_back(std::move(writer));
  });
  Serve(loop, dispatcher, input, {.lax_messages = true});
}

// Both kinds of call against a server that is only bytes.
void FuzzGrpcClient(std::string_view bytes) {
  Input input(bytes);
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  FakeLoop loop;
  net::MemoryStream::Pair pair = net::MemoryStream::Make(loop);
  net::RecordingByteSink server;
  pair.left->SetSink(server);
  net::Http2Client connection(loop, std::move(pair.right), {.peer = "unix:/s"});
  rpc::Channel channel(loop, connection, {.message_bytes_max = kCallBytesMax});
  int answers = 0;
  const auto call = channel.Unary("/t.T/Echo", "request", std::chrono::seconds(10),
                                  [&answers](const StatusOr<std::string>& answer) {
                                    ++answers;
                                    GALEN_CHECK(!answer.ok() || answer->size() <= kCallBytesMax);
                                  });
  MessageSink sink;
  const auto stream = channel.ServerStream("/t.T/Watch", "request", sink);
  loop.RunUntilIdle();
  Say(loop, *pair.left, input, piece);
  pair.left.reset();
  loop.Advance(std::chrono::seconds(200));
  GALEN_CHECK(answers == 1 && sink.ends == 1);
}

void FuzzProxyTunnel(std::string_view bytes) {
  Input input(bytes);
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  FakeLoop loop;
  net::MemoryStream::Pair pair = net::MemoryStream::Make(loop);
  net::RecordingByteSink proxy, through;
  pair.left->SetSink(proxy);
  std::unique_ptr<net::ByteStream> open;
  int outcomes = 0;
  std::unique_ptr<net::ProxyTunnel> tunnel;
  tunnel = std::make_unique<net::ProxyTunnel>(
      std::move(pair.right),
      net::ProxyTunnel::Options{.target = "h:1", .authorization = "Basic eA=="},
      [&](StatusOr<std::unique_ptr<net::ByteStream>> outcome) {
        ++outcomes;
        if (outcome.ok()) {
          open = *std::move(outcome);
          open->SetSink(through);
        }
        tunnel.reset();
      });
  Say(loop, *pair.left, input, piece);
  pair.left.reset();
  loop.RunUntilIdle();
  GALEN_CHECK(outcomes == 1);
}

}  // namespace galen::fuzz
