// Serves what a program shows of itself: its AdminPage, or the bare answers of a ProbePage. Plain
// HTTP without a login on loopback; where others reach it, with a certificate and a token, as
// Prometheus scrapes with (tls_config, authorization). Belongs to its loop. Destroying it closes
// everything at once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/files/file_system.h"
#include "base/log.h"
#include "base/loop/io_loop.h"
#include "net/admin_page.h"
#include "net/endpoint/server.h"
#include "web/token_gate.h"

namespace galen::web {

struct AdminOptions {
  std::string address;  // as for net::AdminAddress
  // PEM, the chain with the leaf first, and its key, both or neither: without them plain HTTP. Read
  // anew every `renewal`, since certificates are replaced while a program runs.
  std::string certificate_file = {}, key_file = {};
  // What it holds is asked for as a bearer token, as it is within a second of the request; "":
  // nobody is asked.
  std::string token_file = {};
  // A certificate is replaced days before it ends.
  Duration renewal = std::chrono::minutes(1);
};

class AdminServer {
 public:
  // Listens. Errors are net::AdminAddress's, net::Server::Start's and those of reading the files,
  // with the file's name. Everything that is lent outlives the server.
  static StatusOr<std::unique_ptr<AdminServer>> Start(IoLoop& loop, Log& log, FileSystem& files,
                                                      const AdminOptions& options,
                                                      net::HttpHandler& page);

  // The same where an operator may want none: no server when the address is empty. Logs where
  // `what` ("metrics") is served.
  static StatusOr<std::unique_ptr<AdminServer>> StartIfWanted(IoLoop& loop, Log& log,
                                                              FileSystem& files,
                                                              std::string_view what,
                                                              const AdminOptions& options,
                                                              net::HttpHandler& page);

  // "tcp:127.0.0.1:9470", with the real port.
  const std::string& address() const { return server_->address(); }

 private:
  AdminServer(IoLoop& loop, Log& log, FileSystem& files, AdminOptions options)
      : loop_(loop), log_(log), files_(files), options_(std::move(options)) {}

  StatusOr<net::ServerTls> ReadTls() const;
  // Takes a certificate that has changed, and says once what is wrong with one that cannot be
  // taken; the one before is shown meanwhile.
  void RenewLater();
  void Renew();

  IoLoop& loop_;
  Log& log_;
  FileSystem& files_;
  const AdminOptions options_;
  std::optional<TokenGate> gate_;
  net::ServerTls tls_;
  std::string told_;  // of the certificate that cannot be taken; "": all is well
  std::unique_ptr<net::Server> server_;
  Timer renewal_;
};

}  // namespace galen::web
