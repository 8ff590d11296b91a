#include "kube/transport.h"

#include <algorithm>
#include <cctype>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "base/architecture.h"
#include "base/check.h"
#include "base/data/base64.h"
#include "base/data/percent.h"
#include "base/liveness.h"
#include "base/loop/backoff.h"
#include "base/version.h"
#include "kube/authenticator.h"
#include "kube/inflater.h"
#include "kube/url.h"

namespace galen::kube {
namespace {

constexpr std::string_view kCannotReach = "cannot reach the API server at ";

// A server that was away is found soon after it is back, without being dialled all the time.
constexpr BackoffPolicy kDialBackoff{.first = std::chrono::milliseconds(100),
                                     .most = std::chrono::seconds(5)};

std::optional<std::string> TakeHeader(net::Headers& headers, std::string_view name) {
  const auto it = std::ranges::find(headers, name, &net::Header::name);
  if (it == headers.end()) return std::nullopt;
  std::string value = std::move(it->value);
  headers.erase(it);
  return value;
}

}  // namespace

bool IsUnreachable(const Status& status) {
  return status.message().find(kCannotReach) != std::string::npos;
}

struct Transport::Impl {
  // Calls are destroyed before the transport; links outlive the calls on them.
  class Call;

  // A connection, the calls on it, and what it was opened with.
  struct Link {
    std::unique_ptr<net::Connection> connection;
    // The certificate that the server knows us by on this connection; see Authenticator::Outdated.
    ClientCertificate shown;
    // Calls that still run on it; without any, a link that is not current is reaped.
    int calls = 0;
    bool lost = false;
    // An answer's head has come over it: the connection worked.
    bool answered = false;
  };

  Impl(Loop& loop_in, Log& log, net::Dialer& dialer_in, FileSystem& files_in, ExecRunner& exec,
       ClusterConfig config_in, Url url_in, std::optional<Url> proxy_in)
      : loop(loop_in),
        dialer(dialer_in),
        files(files_in),
        config(std::move(config_in)),
        url(std::move(url_in)),
        proxy(std::move(proxy_in)),
        authenticator(loop, log, files, exec, config),
        random(static_cast<std::uint64_t>(loop.Now().time_since_epoch().count())) {}

  // The current connection, when a new call may go on it.
  Link* Usable();
  void Pump();
  void PumpSoon() {
    pump = loop.After(Duration::zero(), [this] { Pump(); });
  }
  void Authenticate();
  void Dial();
  StatusOr<net::DialOptions> MakeDialOptions(const ClientCertificate& shown) const;
  void OnDialled(StatusOr<std::unique_ptr<net::Connection>> result, ClientCertificate shown);
  void OnLost(Link& link);
  void FailWaiting(const Status& status);
  void ReapSoon();
  Status CannotReach(const Status& status) const;

  Loop& loop;
  net::Dialer& dialer;
  FileSystem& files;
  const ClusterConfig config;
  const Url url;
  const std::optional<Url> proxy;
  Authenticator authenticator;
  bool authenticating = false;
  // Only for jitter; the time of start differs from node to node and is the same in a repeated
  // simulation.
  Random random;

  std::list<Call*> waiting;
  std::list<Call*> failing;  // being notified
  std::list<Link> links;     // the current one, and those whose calls still run
  Link* current = nullptr;
  std::unique_ptr<net::Dialling> dialling;
  Backoff backoff{kDialBackoff};
  Time next_dial{};
  Timer pump;
  Timer reaper;
};

// A request from Send to its end: waiting, or on a link. Passes the answer on, unpacked.
class Transport::Impl::Call final : public net::HttpCall, private net::HttpResponseSink {
 public:
  Call(Impl& impl, net::HttpRequest request, net::HttpResponseSink& sink);
  ~Call() override;

  void SendOn(Link& link);
  // Reports the end; may destroy the call.
  void End(const Status& status, const net::Headers& trailers = {});
  void EndLater(Status status) {
    later_ = impl_.loop.After(Duration::zero(), [this, status = std::move(status)] {
      const Status copy = status;  // what we call may destroy this task
      End(copy);
    });
  }

 private:
  void Release();
  void OnHead(int status, const net::Headers& headers) override;
  void OnData(std::string_view bytes) override;
  void OnEnd(const Status& status, const net::Headers& trailers) override;

  Impl& impl_;
  const net::HttpRequest request_;
  net::HttpResponseSink& sink_;
  Link* link_ = nullptr;
  std::unique_ptr<net::HttpCall> inner_;
  std::optional<Inflater> inflater_;
  std::string authorization_;
  bool tried_again_ = false;
  bool again_ = false;  // refused: the rest of this answer is dropped
  Liveness liveness_;
  Timer later_;
};

Transport::Impl::Call::Call(Impl& impl, net::HttpRequest request, net::HttpResponseSink& sink)
    : impl_(impl), request_(std::move(request)), sink_(sink) {}

Transport::Impl::Call::~Call() {
  impl_.waiting.remove(this);
  impl_.failing.remove(this);
  Release();
}

void Transport::Impl::Call::SendOn(Link& link) {
  link_ = &link;
  ++link.calls;
  net::HttpRequest request = request_;
  // The request itself stays as it came, for the case that it is sent again after a 401.
  request.path = impl_.url.prefix + request.path;
  authorization_ = impl_.authenticator.authorization();
  if (!authorization_.empty()) request.headers.push_back({"authorization", authorization_});
  request.headers.push_back(
      {"user-agent", fmt::format("galen/{} (linux/{})", kVersion, kArchitecture)});
  // Lists compress well; a request that names another encoding gets that one.
  if (!net::FindHeader(request.headers, "accept-encoding")) {
    request.headers.push_back({"accept-encoding", "gzip"});
  }
  inner_ = link.connection->Send(std::move(request), *this);
}

void Transport::Impl::Call::Release() {
  inner_.reset();
  if (link_ == nullptr) return;
  --link_->calls;
  link_ = nullptr;
  // The link may have waited for its last call.
  impl_.ReapSoon();
}

void Transport::Impl::Call::End(const Status& status, const net::Headers& trailers) {
  Release();
  sink_.OnEnd(status, trailers);
}

void Transport::Impl::Call::OnHead(int status, const net::Headers& headers) {
  link_->answered = true;
  impl_.backoff.Reset();
  if (status == 401 && !tried_again_ && impl_.authenticator.Reject(authorization_, link_->shown)) {
    tried_again_ = again_ = true;
    later_ = impl_.loop.After(Duration::zero(), [this] {
      again_ = false;
      Release();
      impl_.waiting.push_back(this);
      impl_.Pump();
    });
    return;
  }
  net::Headers plain = headers;
  if (const auto encoding = net::FindHeader(plain, "content-encoding"); encoding == "gzip") {
    inflater_.emplace();
    TakeHeader(plain, "content-encoding");
    // content-length counts packed bytes, and the sink sees plain ones.
    TakeHeader(plain, "content-length");
  }
  sink_.OnHead(status, plain);
}

void Transport::Impl::Call::OnData(std::string_view bytes) {
  if (again_) return;
  if (!inflater_) return sink_.OnData(bytes);
  Liveness::Watch watch(liveness_);
  while (true) {
    const StatusOr<std::string> unpacked = inflater_->Next(bytes);
    // Release in End cancels the rest of the answer.
    if (!unpacked.ok()) return End(unpacked.status());
    if (unpacked->empty()) return;
    sink_.OnData(*unpacked);
    // The sink may have destroyed this call.
    if (!watch.alive()) return;
  }
}

void Transport::Impl::Call::OnEnd(const Status& status, const net::Headers& trailers) {
  if (again_) return;
  if (!status.ok()) return End(Annotate(status, "API server {}", ToString(impl_.url)));
  End(inflater_ ? inflater_->Finish() : status, trailers);
}

Transport::Impl::Link* Transport::Impl::Usable() {
  if (current == nullptr) return nullptr;
  // Each reason to change (lost, GOAWAY, newer certificate) lets running calls finish.
  if (!current->lost && current->connection->usable() && !authenticator.Outdated(current->shown)) {
    return current;
  }
  current = nullptr;  // its calls finish there
  ReapSoon();
  return nullptr;
}

// Moves waiting calls a step on: to credentials, to a connection, onto it.
void Transport::Impl::Pump() {
  if (waiting.empty()) return;
  if (!authenticator.ready()) return Authenticate();
  Link* link = Usable();
  if (link == nullptr) return Dial();
  while (!waiting.empty()) {
    Call* call = waiting.front();
    waiting.pop_front();
    call->SendOn(*link);
  }
}

void Transport::Impl::Authenticate() {
  // One at a time; all calls that come meanwhile wait for the same answer.
  if (std::exchange(authenticating, true)) return;
  authenticator.Prepare([this](const Status& status) {
    authenticating = false;
    status.ok() ? PumpSoon() : FailWaiting(status);
  });
}

void Transport::Impl::Dial() {
  if (dialling) return;
  // The last dial failed a moment ago: calls wait instead of failing at once, or of storming.
  if (loop.Now() < next_dial) {
    pump = loop.At(next_dial, [this] { Pump(); });
    return;
  }
  StatusOr<ClientCertificate> shown = authenticator.Certificate();
  if (!shown.ok()) return FailWaiting(Annotate(shown.status(), "client certificate"));
  StatusOr<net::DialOptions> options = MakeDialOptions(*shown);
  if (!options.ok()) return FailWaiting(options.status());
  dialling = dialer.Dial(std::move(options).value(),
                         [this, shown = *shown](StatusOr<std::unique_ptr<net::Connection>> result) {
                           OnDialled(std::move(result), shown);
                         });
}

StatusOr<net::DialOptions> Transport::Impl::MakeDialOptions(const ClientCertificate& shown) const {
  net::DialOptions options;
  options.target = DialTarget(url);
  options.authority = Authority(url);
  options.ping_after = kPingAfter;
  if (proxy) {
    options.proxy = DialTarget(*proxy);
    if (!proxy->user_info.empty()) {
      options.proxy_authorization = "Basic " + EncodeBase64(PercentDecode(proxy->user_info));
    }
  }
  if (!url.tls) return options;
  net::TlsOptions& tls = options.tls.emplace();
  tls.server_name = config.tls_server_name.empty() ? url.host : config.tls_server_name;
  tls.ca_pem = config.ca_pem;
  // Read for each dial: authorities rotate too.
  if (!config.ca_file.empty()) {
    ASSIGN_OR_RETURN(tls.ca_pem, files.Read(config.ca_file));
  }
  tls.certificate_pem = shown.certificate_pem;
  tls.key_pem = shown.key_pem;
  tls.skip_verification = config.skip_verification;
  return options;
}

void Transport::Impl::OnDialled(StatusOr<std::unique_ptr<net::Connection>> result,
                                ClientCertificate shown) {
  // We are inside its callback: it dies when this returns.
  const auto done = std::move(dialling);
  if (!result.ok()) {
    next_dial = loop.Now() + backoff.Next(random);
    return FailWaiting(CannotReach(result.status()));
  }
  Link& link = links.emplace_back();
  link.connection = std::move(result).value();
  link.shown = std::move(shown);
  // A list's elements stay where they are, so the reference is good until the link is reaped.
  link.connection->OnClosed([this, &link](const Status&) { OnLost(link); });
  current = &link;
  Pump();
}

// A connection that never brought an answer counts as a failed dial.
void Transport::Impl::OnLost(Link& link) {
  link.lost = true;
  if (current == &link) current = nullptr;
  if (!link.answered) next_dial = loop.Now() + backoff.Next(random);
  ReapSoon();
  PumpSoon();
}

// Notified from a list of their own: what a sink sends from its callback waits for the next dial.
void Transport::Impl::FailWaiting(const Status& status) {
  failing.splice(failing.end(), waiting);
  while (!failing.empty()) {
    Call* call = failing.front();
    failing.pop_front();
    call->End(status);
  }
}

// Drops connections that nobody needs, but not from inside their own callbacks.
void Transport::Impl::ReapSoon() {
  if (links.empty()) return;
  reaper = loop.After(Duration::zero(), [this] {
    links.remove_if([this](const Link& link) { return &link != current && link.calls == 0; });
  });
}

// The URL names the place already, so the dialler's own names of it are left out.
Status Transport::Impl::CannotReach(const Status& status) const {
  std::string why = status.message();
  // Names the target as the dialer's errors do, see Dialer::Dial.
  for (const char* verb : {"dial", "connect to"}) {
    const std::string place = fmt::format("{} {}: ", verb, DialTarget(url));
    if (why.starts_with(place)) why.erase(0, place.size());
  }
  if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  return {status.code(), fmt::format("{}{}: {}", kCannotReach, ToString(url), why)};
}

Transport::Transport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Transport::~Transport() { GALEN_CHECK(impl_->waiting.empty()); }

StatusOr<std::unique_ptr<Transport>> Transport::Create(Loop& loop, Log& log, net::Dialer& dialer,
                                                       FileSystem& files, ExecRunner& exec,
                                                       ClusterConfig config) {
  StatusOr<Url> url = ParseUrl(config.server);
  if (!url.ok()) return Annotate(url.status(), "server {}", WithoutUser(config.server));
  std::optional<Url> proxy;
  if (!config.proxy_url.empty()) {
    StatusOr<Url> parsed = ParseProxyUrl(config.proxy_url);
    if (!parsed.ok()) return Annotate(parsed.status(), "proxy {}", WithoutUser(config.proxy_url));
    if (parsed->tls)
      return InvalidArgument("proxy {}: only http:// is supported, write http://HOST:PORT",
                             ToString(*parsed));
    proxy = std::move(parsed).value();
  }
  return std::unique_ptr<Transport>(
      new Transport(std::make_unique<Impl>(loop, log, dialer, files, exec, std::move(config),
                                           std::move(url).value(), std::move(proxy))));
}

std::unique_ptr<net::HttpCall> Transport::Send(net::HttpRequest request,
                                               net::HttpResponseSink& sink) {
  auto call = std::make_unique<Impl::Call>(*impl_, std::move(request), sink);
  Impl::Link* link = impl_->authenticator.ready() ? impl_->Usable() : nullptr;
  if (link != nullptr && impl_->waiting.empty()) {
    call->SendOn(*link);
  } else if (impl_->waiting.size() >= kWaitingCallsMax) {
    call->EndLater(ResourceExhausted("{} calls wait for the API server at {} already",
                                     kWaitingCallsMax, ToString(impl_->url)));
  } else {
    impl_->waiting.push_back(call.get());
    impl_->PumpSoon();
  }
  return call;
}

}  // namespace galen::kube
