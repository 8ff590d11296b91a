// The URLs of a kubeconfig: of the API server, and of a proxy before it. A value, and pure
// functions. Only http and https, as that is all that such URLs can be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::kube {

struct Url {
  // "https" rather than "http".
  bool tls = false;
  // A name or a number; IPv6 without its brackets.
  std::string host = {};
  // Never 0 in what ParseUrl gives: 443 or 80 where none is written.
  std::uint16_t port = 0;
  std::string prefix = {};     // "/k8s/clusters/c-1"; "" = none; never ends in "/"
  std::string user_info = {};  // "name:password", still percent-encoded; "" = none

  bool operator==(const Url&) const = default;
};

// "https://host", "http://name:password@[::1]:8080/prefix/". No query, no fragment:
// InvalidArgument, whose sentence goes behind the name of the field; it quotes nothing that may be
// a password. Slashes at the end are dropped.
StatusOr<Url> ParseUrl(std::string_view text);
// As ParseUrl, for a proxy, whose URL has no use for a path: one with an "@" in it is
// InvalidArgument, since it would most often be the end of a password with a "/".
StatusOr<Url> ParseProxyUrl(std::string_view text);
// `text` as it is written, for errors about what cannot be parsed: with "..." for all that may be
// user and password.
std::string WithoutUser(std::string_view text);

// "https://127.0.0.1:6443/prefix", for people: without user and password.
std::string ToString(const Url& url);
// "127.0.0.1:6443", "[::1]:6443", "name": the port only when it is not the scheme's own.
std::string Authority(const Url& url);
// "tcp:127.0.0.1:6443", as net dials it.
std::string DialTarget(const Url& url);

}  // namespace galen::kube
