#include <fmt/format.h>

#include <utility>

#include "base/loop/io_loop.h"
#include "net/address.h"
#include "net/connection.h"
#include "net/endpoint/proxy_tunnel.h"
#include "net/http2/http2_client.h"
#include "net/socket/connector.h"
#include "net/socket/fd_stream.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_stream.h"

namespace galen::net {
namespace {

using DialDone = std::function<void(StatusOr<std::unique_ptr<Connection>>)>;

// "host:port", as a proxy wants it and as people know a server.
std::string HostAndPort(const Address& address) {
  const std::string text = ToString(address);
  return text.substr(text.find(':') + 1);
}

// One dial: socket, proxy's tunnel, TLS, HTTP/2's first settings; each step hands on to the next.
class SocketDialling final : public Dialling {
 public:
  SocketDialling(IoLoop& loop, Resolver& resolver, DialOptions options, DialDone done)
      : loop_(loop), resolver_(resolver), options_(std::move(options)), done_(std::move(done)) {
    // `done` is never called from inside Dial, so even a bad address is reported later.
    start_ = loop_.At(loop_.Now(), [this] { Start(); });
    timeout_ = loop_.After(options_.connect_timeout,
                           [this] { Finish(DeadlineExceeded("no answer in time")); });
  }

 private:
  void Start() {
    StatusOr<Address> target = ParseAddress(options_.target);
    if (!target.ok()) return Finish(target.status());
    target_ = *std::move(target);
    if (const Status status = PrepareTls(); !status.ok()) return Finish(status);
    StatusOr<Address> hop = target_;
    if (!options_.proxy.empty()) hop = ParseAddress(options_.proxy);
    if (!hop.ok()) return Finish(Annotate(hop.status(), "proxy"));
    connector_.emplace(loop_, resolver_, *hop, [this](StatusOr<Fd> fd) {
      if (!fd.ok()) return Finish(fd.status());
      OnConnected(MakeFdStream(loop_, *std::move(fd)));
    });
  }

  Status PrepareTls() {
    // Refused rather than ignored: a request in plain text would show its token to the proxy.
    if (!options_.proxy.empty() && (!options_.tls || target_.kind != Address::Kind::kTcp)) {
      return InvalidArgument("a proxy carries TLS over TCP only; leave the proxy out");
    }
    if (!options_.tls) return OkStatus();
    // Without a name there would be nothing to compare the certificate with.
    if (ServerName().empty() && !options_.tls->skip_verification) {
      return InvalidArgument("TLS over a unix socket needs a server name to verify");
    }
    StatusOr<SslContext> context = MakeClientContext(*options_.tls);
    if (!context.ok()) return Annotate(context.status(), "TLS");
    tls_ = *std::move(context);
    return OkStatus();
  }

  // The name that the certificate must have: a given name goes before the target's own.
  const std::string& ServerName() const {
    return options_.tls->server_name.empty() ? target_.host : options_.tls->server_name;
  }

  void OnConnected(std::unique_ptr<ByteStream> stream) {
    if (options_.proxy.empty()) return OnTunnel(std::move(stream));
    tunnel_.emplace(std::move(stream),
                    ProxyTunnel::Options{.target = HostAndPort(target_),
                                         .authorization = options_.proxy_authorization},
                    [this](StatusOr<std::unique_ptr<ByteStream>> through) {
                      if (!through.ok()) return Finish(through.status());
                      OnTunnel(*std::move(through));
                    });
  }

  void OnTunnel(std::unique_ptr<ByteStream> stream) {
    if (tls_ == nullptr) return StartHttp(std::move(stream));
    secured_ =
        TlsStream::Connect(std::move(stream), tls_.get(),
                           {.name = ServerName(),
                            .address = HostAndPort(target_),
                            .skip_verification = options_.tls->skip_verification},
                           [this](const StatusOr<std::string>& protocol) { OnSecured(protocol); });
  }

  void OnSecured(const StatusOr<std::string>& protocol) {
    if (!protocol.ok()) return Finish(protocol.status());
    // A server without ALPN may use HTTP/1.1, which the client side here does not support.
    if (*protocol != "h2") {
      return Finish(
          FailedPrecondition("the server offers no HTTP/2, which is needed here: does something "
                             "in between end TLS?"));
    }
    StartHttp(std::move(secured_));
  }

  void StartHttp(std::unique_ptr<ByteStream> stream) {
    client_ = std::make_unique<Http2Client>(
        loop_, std::move(stream),
        Http2Client::Options{.peer = options_.target,
                             .authority = options_.authority,
                             .scheme = options_.tls ? "https" : "http",
                             .head_bytes_max = options_.response_head_bytes_max,
                             .stream_window_bytes = options_.stream_window_bytes,
                             .ping_after = options_.ping_after});
    // Not done before the server's settings have come: a socket that accepts may still belong to
    // something other than an HTTP/2 server.
    client_->OnClosed([this](const Status& why) { Finish(why); });
    client_->OnReady([this] {
      client_->OnClosed(nullptr);
      Finish(std::unique_ptr<Connection>(std::move(client_)));
    });
  }

  // A socket's error names the address that was dialled: said once when it is the target itself.
  Status Annotated(const Status& status) const {
    const std::string connect = fmt::format("connect to {}: ", options_.target);
    std::string message = status.message();
    if (message.starts_with(connect)) message.erase(0, connect.size());
    return Status(status.code(), fmt::format("dial {}: {}", options_.target, message));
  }

  // The only way out, from any step; a Finish ends all timers and parts, so it comes once.
  void Finish(StatusOr<std::unique_ptr<Connection>> outcome) {
    // All parts are destroyed before `done` runs, including the one that called us: each reports
    // its outcome as its last act.
    timeout_.Cancel();
    connector_.reset();
    tunnel_.reset();
    secured_.reset();
    client_.reset();
    const DialDone done = std::exchange(done_, nullptr);
    if (!outcome.ok()) outcome = Annotated(outcome.status());
    done(std::move(outcome));  // last: it may destroy this
  }

  IoLoop& loop_;
  Resolver& resolver_;
  const DialOptions options_;
  DialDone done_;
  Timer start_;
  Timer timeout_;
  Address target_;
  SslContext tls_;  // null: plain text
  std::optional<Connector> connector_;
  std::optional<ProxyTunnel> tunnel_;
  std::unique_ptr<TlsStream> secured_;
  std::unique_ptr<Http2Client> client_;
};

class SocketDialer final : public Dialer {
 public:
  explicit SocketDialer(IoLoop& loop) : loop_(loop), resolver_(loop) {}

  std::unique_ptr<Dialling> Dial(DialOptions options, DialDone done) override {
    return std::make_unique<SocketDialling>(loop_, resolver_, std::move(options), std::move(done));
  }

 private:
  IoLoop& loop_;
  Resolver resolver_;
};

}  // namespace

std::unique_ptr<Dialer> MakeDialer(IoLoop& loop) { return std::make_unique<SocketDialer>(loop); }

}  // namespace galen::net
