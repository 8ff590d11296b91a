// Both ends of a connection against a peer that is only bytes. The first byte says how they are
// cut.
#include "base/check.h"
#include "base/loop/fake_loop.h"
#include "net/endpoint/accepted.h"
#include "net/fake_memory_stream.h"
#include "net/fake_recording_sink.h"
#include "net/http2/http2_client.h"
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

void FuzzHttpServer(std::string_view bytes) {
  Input input(bytes);
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  FakeLoop loop;
  EchoHandler handler;
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
                                                                     .streams_max = 8},
                                                          .peer = std::nullopt,
                                                          .on_end =
                                                              [&](const Status&) {
                                                                ++ends;
                                                                accepted.reset();
                                                              }},
                                      std::move(pair.right), net::Accepted::Options{});
  Say(loop, *pair.left, input, piece);
  pair.left.reset();
  loop.Advance(std::chrono::seconds(200));
  GALEN_CHECK(ends == 1 && accepted == nullptr);
}

}  // namespace galen::fuzz
