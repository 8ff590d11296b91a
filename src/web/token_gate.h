// Lets requests through to a page that bring the token of a file (RFC 6750, the header), and
// answers the others 401. A token which is replaced counts within a second; one that is empty or
// cannot be read lets nobody through. Belongs to its loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/files/file_system.h"
#include "base/loop/loop.h"
#include "net/http.h"

namespace galen::web {

class TokenGate final : public net::HttpHandler {
 public:
  // What is lent outlives the gate.
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

}  // namespace galen::web
