// Where an exporter of metrics listens, as rules files write it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::probes {

// Where an exporter listens.
struct ExporterAddress {
  std::string host{};  // a number, "127.0.0.1" or "::1"; "" with a socket
  int port = 80;
  std::string socket_path{};  // of a unix socket; "" with a host
  std::string path = "/";     // of its page

  // Whether the exporter is on this machine.
  bool is_local() const;
  bool operator==(const ExporterAddress&) const = default;
};

// "http://127.0.0.1:9400/metrics", "http://[::1]:9400/metrics", "http://localhost:9400/metrics"
// (which is 127.0.0.1: no name is looked up), "unix:/run/x.sock" (its /metrics). InvalidArgument
// for anything else.
StatusOr<ExporterAddress> ParseExporterAddress(std::string_view url);

}  // namespace galen::probes
