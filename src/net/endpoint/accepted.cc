#include "net/endpoint/accepted.h"

#include <algorithm>
#include <utility>

#include "net/http1/http1_server.h"
#include "net/http2/http2_server.h"
#include "net/tls/tls_stream.h"

namespace galen::net {
namespace {

// The first bytes of every HTTP/2 client; no request of HTTP/1.1 begins like them.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Whether one text is the beginning of the other.
bool Agree(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  return a.substr(0, size) == b.substr(0, size);
}

}  // namespace

Accepted::Accepted(SessionContext context, std::unique_ptr<ByteStream> stream, Options options)
    : context_(std::move(context)), options_(options), accepted_(context_.loop.Now()) {
  opening_ = context_.loop.After(options_.opening_timeout, [this] {
    End(DeadlineExceeded("the client said nothing that could be answered in time"));
  });
  if (options.tls == nullptr) {
    stream_ = std::move(stream);
    stream_->SetSink(*this);
    return;
  }
  stream_ = TlsStream::Accept(
      std::move(stream), options.tls,
      [this](const StatusOr<std::string>& protocol) { OnHandshake(protocol.status()); });
}

// Which protocol was chosen does not matter: what the client says first does.
void Accepted::OnHandshake(const Status& status) {
  if (!status.ok()) return End(status);
  stream_->SetSink(*this);
}

void Accepted::Drain() {
  // A session that has begun ends by itself when it is done; a client that has sent nothing yet is
  // cut off.
  if (session_ != nullptr) return session_->Drain();
  opening_ =
      context_.loop.At(context_.loop.Now(), [this] { End(Unavailable("the server stops")); });
}

std::optional<Time> Accepted::idle_since() const {
  return session_ != nullptr ? session_->idle_since() : accepted_;
}

void Accepted::OnBytes(std::string_view bytes) {
  first_.append(bytes);
  const bool is_http2 = options_.http2 && Agree(first_, kPreface);
  // Still undecided: "P" may begin the preface or POST.
  if (is_http2 && first_.size() < kPreface.size()) return;
  opening_.Cancel();
  // Moved out of the member: the session's first request may end this connection.
  const std::string first = std::exchange(first_, {});
  if (is_http2) return StartHttp2(first);
  auto session = std::make_unique<Http1Server>(context_, std::move(stream_));
  Http1Server& started = *session;
  session_ = std::move(session);
  started.Start(first);
}

void Accepted::StartHttp2(const std::string& first) {
  auto session = std::make_unique<Http2Server>(context_, std::move(stream_), options_.lax_messages);
  Http2Server& started = *session;
  session_ = std::move(session);
  started.Start(first);
}

void Accepted::End(const Status& status) {
  const auto on_end = context_.on_end;  // a copy: it may destroy this
  on_end(status);
}

}  // namespace galen::net
