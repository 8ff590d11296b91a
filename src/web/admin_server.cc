#include "web/admin_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace galen::web {
namespace {

constexpr Duration kReadAgain = std::chrono::seconds(1);

constexpr std::string_view kScheme = "bearer ";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// In constant time, which reveals nothing of where they differ.
bool IsSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

// The token of "Bearer TOKEN", whose scheme may be written in any case; "" when there is none.
std::string_view TokenOf(std::string_view authorization) {
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  if (!std::ranges::equal(scheme, kScheme, {}, Lower)) return "";
  return Trimmed(authorization.substr(kScheme.size()));
}

}  // namespace

const std::string& TokenGate::Wanted() {
  if (read_ && loop_.Now() - *read_ < kReadAgain) return wanted_;
  read_ = loop_.Now();
  const StatusOr<std::string> text = files_.Read(token_file_);
  wanted_ = text.ok() ? Trimmed(*text) : "";
  return wanted_;
}

void TokenGate::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const std::string& wanted = Wanted();
  const std::string_view said =
      TokenOf(net::FindHeader(exchange->request().headers, "authorization").value_or(""));
  if (!wanted.empty() && IsSame(said, wanted)) return page_.Handle(std::move(exchange));
  net::Respond(*exchange, 401, "text/plain; charset=utf-8",
               "send the bearer token in the header Authorization\n");
}

StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(IoLoop& loop, Log& log, FileSystem& files,
                                                          const AdminOptions& options,
                                                          net::HttpHandler& page) {
  std::unique_ptr<AdminServer> admin(new AdminServer(loop, log, files, options));
  ASSIGN_OR_RETURN(net::ServerOptions server, net::AdminServerOptions(options.address));
  if (!options.certificate_file.empty()) {
    ASSIGN_OR_RETURN(admin->tls_, admin->ReadTls());
    server.tls = admin->tls_;
  }
  net::HttpHandler* handler = &page;
  if (!options.token_file.empty()) {
    // Read once at the start: a token file that cannot be read would refuse everybody, and nobody
    // would know why.
    RETURN_IF_ERROR(
        Annotate(files.Read(options.token_file).status(), "read {}", options.token_file));
    handler = &admin->gate_.emplace(loop, files, options.token_file, page);
  }
  const bool renews = server.tls.has_value();
  ASSIGN_OR_RETURN(admin->server_, net::Server::Start(loop, log, std::move(server), *handler));
  if (renews) admin->RenewLater();
  return admin;
}

StatusOr<std::unique_ptr<AdminServer>> AdminServer::StartIfWanted(IoLoop& loop, Log& log,
                                                                  FileSystem& files,
                                                                  std::string_view what,
                                                                  const AdminOptions& options,
                                                                  net::HttpHandler& page) {
  if (options.address.empty()) return std::unique_ptr<AdminServer>();
  ASSIGN_OR_RETURN(auto server, Start(loop, log, files, options, page));
  log.Info(fmt::format("{} are served", what), {{"address", server->address()}});
  return server;
}

StatusOr<net::ServerTls> AdminServer::ReadTls() const {
  const auto read = [this](const std::string& path) -> StatusOr<std::string> {
    StatusOr<std::string> text = files_.Read(path);
    if (!text.ok()) return Annotate(text.status(), "read {}", path);
    return text;
  };
  net::ServerTls tls;
  ASSIGN_OR_RETURN(tls.certificate_pem, read(options_.certificate_file));
  ASSIGN_OR_RETURN(tls.key_pem, read(options_.key_file));
  return tls;
}

void AdminServer::RenewLater() {
  renewal_ = loop_.After(options_.renewal, [this] {
    Renew();
    RenewLater();
  });
}

void AdminServer::Renew() {
  StatusOr<net::ServerTls> now = ReadTls();
  Status status = now.status();
  const bool changed =
      now.ok() && (now->certificate_pem != tls_.certificate_pem || now->key_pem != tls_.key_pem);
  if (changed) {
    // Certificate and key are two files: between their replacements they do not fit each other.
    status = server_->UseTls(*now);
    if (status.ok()) {
      tls_ = *std::move(now);
      log_.Info("certificate of metrics was replaced", {{"file", options_.certificate_file}});
    }
  }
  const std::string trouble(status.message());
  if (trouble != renewal_trouble_ && !trouble.empty()) {
    log_.Error("the certificate of metrics cannot be read, the previous one stays in use",
               {{"error", trouble}});
  }
  renewal_trouble_ = trouble;
}

void ProbePage::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const net::HttpRequest& request = exchange->request();
  const std::string_view path = std::string_view(request.path).substr(0, request.path.find('?'));
  // A probe asks once, so the connection ends and frees its place for the next.
  const auto answer = [&](int status, const std::string& text) {
    exchange->Head(status, {{"content-type", "text/plain; charset=utf-8"},
                            {"content-length", std::to_string(text.size())},
                            {"connection", "close"}});
    exchange->Write(text);
    exchange->End();
  };
  if (path != "/healthz" && path != "/readyz") {
    return answer(404, "not found: try /healthz or /readyz\n");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return answer(405, "only GET and HEAD are answered\n");
  }
  const bool well = path == "/healthz" || page_.IsReady();
  answer(well ? 200 : 503, well ? "ok\n" : "not ready\n");
}

}  // namespace galen::web
