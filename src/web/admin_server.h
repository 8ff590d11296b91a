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
#include "base/loop/loop.h"
#include "net/admin_page.h"
#include "net/endpoint/server.h"
#include "net/http.h"

namespace galen::web {

// Lets requests through to a page that bring the token of a file (RFC 6750, the header), and
// answers the others 401. A token which is replaced counts within a second; one that is empty or
// cannot be read lets nobody through.
class TokenGate final : public net::HttpHandler {
 public:
  // Loop and files are lent and outlive the gate.
  TokenGate(Loop& loop, FileSystem& files, std::string token_file, net::HttpHandler& page)
      : loop_(loop), files_(files), token_file_(std::move(token_file)), page_(page) {}

  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  // The file's token, "" for none; read at most once a second, or whoever asks without a token
  // could keep the loop busy with it.
  const std::string& Wanted();

  Loop& loop_;
  FileSystem& files_;
  const std::string token_file_;
  net::HttpHandler& page_;
  std::string wanted_;
  std::optional<Time> read_;  // when
};

// Where the server listens, and who may ask.
struct AdminOptions {
  std::string address;  // as for net::AdminAddress
  // PEM, the chain with the leaf first, and its key, both or neither: without them plain HTTP. Read
  // anew every `renewal`, since certificates are replaced while a program runs.
  std::string certificate_file = {}, key_file = {};
  // A file with the bearer token that clients must send; a replaced token counts within a second.
  // "": clients need no token.
  std::string token_file = {};
  // Often enough: certificates are replaced days before they expire.
  Duration renewal = std::chrono::minutes(1);
};

// The server of one page on one address.
class AdminServer {
 public:
  // Listens. Errors are net::AdminAddress's, net::Server::Start's and those of reading the files,
  // with the file's name. Everything that is lent outlives the server.
  static StatusOr<std::unique_ptr<AdminServer>> Start(IoLoop& loop, Log& log, FileSystem& files,
                                                      const AdminOptions& options,
                                                      net::HttpHandler& page);

  // As Start, where an operator may want no server: none when the address is empty. Logs where
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
  // taken; the previous one stays in use.
  void RenewLater();
  void Renew();

  IoLoop& loop_;
  Log& log_;
  FileSystem& files_;
  const AdminOptions options_;
  std::optional<TokenGate> gate_;
  net::ServerTls tls_;
  std::string renewal_trouble_;  // why the renewed certificate is not used; "": no problem
  std::unique_ptr<net::Server> server_;
  Timer renewal_;
};

// What a kubelet's probes need of a program and nothing else: /healthz and /readyz, one word each,
// by the checks of an AdminPage. That page names devices, namespaces and what is wrong; this one
// reveals nothing, since everybody in a cluster can reach it. A client that merely holds
// connections open keeps no probe out (see AdminServer). One that floods the port may: a
// NetworkPolicy helps.
class ProbePage final : public net::HttpHandler {
 public:
  // `page` is lent and outlives this one.
  explicit ProbePage(const net::AdminPage& page) : page_(page) {}

  // /healthz is always 200, /readyz 503 while a check fails; GET and HEAD. Anything else is as on
  // an AdminPage. Each answer ends its connection of HTTP/1.1.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  const net::AdminPage& page_;
};

}  // namespace galen::web
