#include "net/endpoint/test_asker.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "net/address.h"
#include "net/fake_memory_stream.h"
#include "net/socket/fd_stream.h"
#include "net/socket/socket.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_stream.h"

namespace galen::net {
namespace {

std::string Written(const HttpRequest& request) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n",
                                 request.method, request.path);
  for (const Header& field : request.headers) {
    text += fmt::format("{}: {}\r\n", field.name, field.value);
  }
  return text + "\r\n" + request.body;
}

StatusOr<Fd> Connect(const std::string& address) {
  const Address place = ParseAddress(address).value();
  return StartConnect(place.kind == Address::Kind::kUnix
                          ? UnixSocketAddress(place.path).value()
                          : NumericSocketAddress(place.host, place.port).value());
}

// A socket's file is there a moment before anybody listens to it.
Fd ConnectTo(LoopRunner& runner, const std::string& address) {
  StatusOr<Fd> connected = Connect(address);
  runner.RunUntil([&] {
    if (!connected.ok()) connected = Connect(address);
    return connected.ok();
  });
  return std::move(connected).value();
}

}  // namespace

std::string AskOverHttp1(LoopRunner& runner, const std::string& address, const HttpRequest& request,
                         const std::optional<TlsOptions>& tls) {
  RecordingByteSink answer;
  std::unique_ptr<ByteStream> stream = MakeFdStream(runner.loop(), ConnectTo(runner, address));
  if (tls) {
    const SslContext context = MakeClientContext(*tls).value();
    std::optional<Status> shaken;
    stream = TlsStream::Connect(
        std::move(stream), context.get(), {.name = "127.0.0.1", .address = address},
        [&shaken](const StatusOr<std::string>& protocol) { shaken = protocol.status(); });
    runner.RunUntil([&shaken] { return shaken.has_value(); });
    if (!shaken->ok()) return "";
  }
  stream->SetSink(answer);
  stream->Write(Written(request));
  runner.RunUntil([&answer] { return !answer.closed.ok(); });
  return answer.received;
}

}  // namespace galen::net
