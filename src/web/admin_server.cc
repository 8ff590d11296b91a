#include "web/admin_server.h"

#include <fmt/core.h>

#include <utility>

namespace galen::web {

StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(IoLoop& loop, Log& log, FileSystem& files,
                                                          const AdminOptions& options,
                                                          net::HttpHandler& page) {
  std::unique_ptr<AdminServer> admin(new AdminServer(loop, log, files, options));
  net::ServerOptions server;
  ASSIGN_OR_RETURN(server.address, net::AdminAddress(options.address));
  server.connections_max = net::AdminPage::kConnectionsMax;
  server.request_body_bytes_max = net::AdminPage::kRequestBodyBytesMax;
  if (!options.certificate_file.empty()) {
    ASSIGN_OR_RETURN(admin->tls_, admin->ReadTls());
    server.tls = admin->tls_;
  }
  net::HttpHandler* handler = &page;
  if (!options.token_file.empty()) {
    // One that cannot be read now would refuse everybody, and nobody would know why.
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
  if (trouble != told_ && !trouble.empty()) {
    log_.Error("certificate of metrics cannot be replaced, the one before is shown",
               {{"error", trouble}});
  }
  told_ = trouble;
}

}  // namespace galen::web
