#include "net/endpoint/server.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/check.h"
#include "net/address.h"
#include "net/admin_page.h"
#include "net/endpoint/accepted.h"
#include "net/socket/fd_stream.h"
#include "net/socket/socket.h"
#include "net/tls/tls_context.h"

namespace galen::net {
namespace {

// So that a burst of connections does not keep others from their turn.
constexpr std::size_t kAcceptsPerTurnMax = 64;
// When descriptors or memory are out, trying at once again would only burn the processor.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);
// A client that opens and closes connections must not fill the log as well.
constexpr Duration kFullAgain = std::chrono::minutes(1);

}  // namespace

struct Server::Impl {
  Impl(IoLoop& loop_in, Log& log_in, ServerOptions options_in, HttpHandler& handler_in)
      : loop(loop_in), log(log_in), options(std::move(options_in)), handler(handler_in) {}
  ~Impl() {
    // Before the descriptor goes, so that nobody finds a file without a listener.
    if (!unix_path.empty()) RemoveSocketFile(unix_path, listener);
  }

  // Serves with `wanted` from now on; after an error nothing changes.
  Status UseTls(const std::optional<ServerTls>& wanted);
  Status Listen();
  Status ListenOnTcp(const Address& wanted);
  void WatchListener();
  void AcceptSoon();
  void AcceptSome();
  void PauseAccepting(const Status& why);
  void Add(Fd fd);
  bool MakeRoom();
  void LogFull(std::string_view what);
  void Ended(std::uint64_t id, const Status& why);
  void Drain(Duration deadline, std::function<void()> done);
  void StopListening();
  void FinishDrain();

  IoLoop& loop;
  Log& log;
  const ServerOptions options;
  HttpHandler& handler;
  SslContext tls;  // null: plain text
  std::string unix_path;
  std::string address;
  UnixListener listener;  // of either kind; the file only of a unix socket
  FdWatch watch;
  Timer accepting;
  Timer pause;
  std::optional<Time> full_logged;
  bool starved = false;  // of descriptors or memory, and that was reported
  std::uint64_t next_id = 0;
  std::map<std::uint64_t, std::unique_ptr<Accepted>> connections;
  std::function<void()> drained;
  Timer drain_deadline;
};

Status Server::Impl::UseTls(const std::optional<ServerTls>& wanted) {
  if (!wanted) return OkStatus();
  StatusOr<SslContext> context = MakeServerContext(*wanted, options.http2);
  if (!context.ok()) return Annotate(context.status(), "TLS of {}", options.address);
  tls = *std::move(context);
  return OkStatus();
}

Status Server::Impl::Listen() {
  ASSIGN_OR_RETURN(const Address wanted, ParseAddress(options.address));
  if (wanted.kind == Address::Kind::kTcp) return ListenOnTcp(wanted);
  ASSIGN_OR_RETURN(listener, ListenUnix(wanted.path, options.socket_mode));
  unix_path = wanted.path;
  address = ToString(wanted);
  return OkStatus();
}

Status Server::Impl::ListenOnTcp(const Address& wanted) {
  const auto numeric = NumericSocketAddress(wanted.host, wanted.port);
  // A name could mean several addresses, or change; where a server listens is not to be guessed.
  if (!numeric) {
    return InvalidArgument("cannot listen on {}: write the host as a number, as in 127.0.0.1",
                           options.address);
  }
  ASSIGN_OR_RETURN(listener.fd, ListenTcp(*numeric));
  ASSIGN_OR_RETURN(const SocketAddress bound, BoundAddress(listener.fd.get()));
  address = ToString(bound);
  return OkStatus();
}

void Server::Impl::WatchListener() {
  pause.Cancel();
  watch = loop.WatchFd(listener.fd.get(), {.readable = true, .writable = false, .hung_up = false},
                       [this](Readiness) { AcceptSoon(); });
}

// Accepts after this turn's reads: what a client sent right after connecting is read before another
// client may take its place.
void Server::Impl::AcceptSoon() {
  if (accepting) return;
  accepting = loop.At(loop.Now(), [this] {
    const Timer ran = std::exchange(accepting, Timer());
    AcceptSome();
  });
}

void Server::Impl::AcceptSome() {
  // No more than there are places, or the last one accepted in a turn would close the first.
  const std::size_t most = std::clamp<std::size_t>(options.connections_max, 1, kAcceptsPerTurnMax);
  for (std::size_t i = 0; i < most; ++i) {
    StatusOr<std::optional<Fd>> fd = AcceptNext(listener.fd.get());
    if (!fd.ok()) return PauseAccepting(fd.status());
    if (!fd->has_value()) return;
    starved = false;
    Add(*std::move(*fd));
  }
}

void Server::Impl::PauseAccepting(const Status& why) {
  if (!std::exchange(starved, true)) {  // once, not ten times a second until there is room
    log.Warning("accepting connections pauses", {{"address", address}, {"reason", ToString(why)}});
  }
  watch.Cancel();
  pause = loop.After(kAcceptPause, [this] { WatchListener(); });
}

void Server::Impl::Add(Fd fd) {
  // `fd` is closed on return.
  if (connections.size() >= options.connections_max && !MakeRoom()) return;
  const std::uint64_t id = next_id++;
  // Who may connect to a unix socket is known by its mode; the old gRPC clients are there only.
  const bool local = !unix_path.empty();
  SessionContext context{.loop = loop,
                         .handler = handler,
                         .limits = {.request_body_bytes_max = options.request_body_bytes_max,
                                    .head_bytes_max = options.head_bytes_max,
                                    .streams_max = options.streams_per_connection_max},
                         .peer = local ? ReadPeerCredentials(fd.get()) : std::nullopt,
                         .on_end = [this, id](const Status& why) { Ended(id, why); }};
  connections[id] = std::make_unique<Accepted>(
      std::move(context), MakeFdStream(loop, std::move(fd)),
      Accepted::Options{.lax_messages = local, .tls = tls.get(), .http2 = options.http2});
}

// False when every connection owes an answer.
bool Server::Impl::MakeRoom() {
  auto longest = connections.end();
  std::optional<Time> since;
  for (auto it = connections.begin(); it != connections.end(); ++it) {
    const std::optional<Time> idle = it->second->idle_since();
    if (!idle || (since && *since <= *idle)) continue;
    longest = it;
    since = idle;
  }
  if (!since) {
    LogFull("connections are refused, too many are open");
    return false;
  }
  LogFull("too many connections are open, the one idle longest is closed for each new one");
  connections.erase(longest);
  return true;
}

void Server::Impl::LogFull(std::string_view what) {
  if (full_logged && loop.Now() - *full_logged < kFullAgain) return;
  full_logged = loop.Now();
  log.Warning(what, {{"address", address}, {"limit", options.connections_max}});
}

void Server::Impl::Ended(std::uint64_t id, const Status& why) {
  log.Debug("connection ended", {{"address", address}, {"reason", ToString(why)}});
  // Dies at the end of this: we are called from inside it.
  const auto ended = connections.extract(id);
  if (connections.empty()) FinishDrain();
}

void Server::Impl::StopListening() {
  watch.Cancel();
  accepting.Cancel();
  pause.Cancel();
  if (!unix_path.empty()) RemoveSocketFile(unix_path, listener);
  // Removed once only, and while the descriptor holds the inode: a later socket's file may get the
  // same inode number.
  unix_path.clear();
  listener.fd.Reset();
}

void Server::Impl::Drain(Duration deadline, std::function<void()> done) {
  drained = std::move(done);
  StopListening();
  for (auto& [id, connection] : connections) connection->Drain();
  // Without connections by a timer, too: `done` never runs inside Drain.
  const Duration wait = connections.empty() ? Duration::zero() : deadline;
  drain_deadline = loop.After(wait, [this] {
    connections.clear();
    FinishDrain();
  });
}

void Server::Impl::FinishDrain() {
  const Timer ran = std::exchange(drain_deadline, Timer());
  if (const auto done = std::exchange(drained, nullptr)) done();
}

StatusOr<ServerOptions> AdminServerOptions(std::string_view address) {
  ServerOptions options;
  ASSIGN_OR_RETURN(options.address, AdminAddress(address));
  options.connections_max = AdminPage::kConnectionsMax;
  options.request_body_bytes_max = AdminPage::kRequestBodyBytesMax;
  options.head_bytes_max = AdminPage::kHeadBytesMax;
  options.http2 = false;
  return options;
}

StatusOr<std::unique_ptr<Server>> Server::Start(IoLoop& loop, Log& log, ServerOptions options,
                                                HttpHandler& handler) {
  auto impl = std::make_unique<Impl>(loop, log, std::move(options), handler);
  RETURN_IF_ERROR(impl->UseTls(impl->options.tls));
  RETURN_IF_ERROR(impl->Listen());
  impl->WatchListener();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Status Server::UseTls(const ServerTls& tls) {
  GALEN_CHECK(impl_->tls != nullptr);
  return impl_->UseTls(tls);
}

const std::string& Server::address() const { return impl_->address; }
std::size_t Server::connections() const { return impl_->connections.size(); }

void Server::Drain(Duration deadline, std::function<void()> done) {
  impl_->Drain(deadline, std::move(done));
}

}  // namespace galen::net
