#include <fmt/core.h>

#include <string>
#include <string_view>

#include "agent/app/config.h"
#include "base/text.h"
#include "net/address.h"
#include "net/socket/socket.h"

namespace galen::agent {
namespace {

// Accepts the same forms as the metrics server: "tcp:" may come first, and an empty host means
// loopback. A host must be an address, not a name.
bool IsAddress(std::string_view text, std::string& host) {
  std::string_view rest = text.starts_with("tcp:") ? text.substr(4) : text;
  const std::string whole = std::string("tcp:") + (rest.starts_with(':') ? "127.0.0.1" : "");
  const StatusOr<net::Address> address = net::ParseAddress(whole + std::string(rest));
  if (!address.ok() || !net::NumericSocketAddress(address->host, address->port)) return false;
  host = address->host;
  return true;
}

// The host, "" for no address at all and for a faulty one.
std::string CheckAddress(const std::string& where, std::string_view text, ConfigFaults& faults) {
  std::string host;
  if (text.empty() || IsAddress(text, host)) return host;
  faults.Add(where,
             fmt::format("is \"{}\", must be an address and a port such as 127.0.0.1:9470, or "
                         "\"\" for none",
                         Printable(ToValidUtf8(text))));
  return "";
}

void CheckFile(const std::string& where, const std::string& path, ConfigFaults& faults) {
  if (path.empty() || path.starts_with('/')) return;
  faults.Add(where, fmt::format("is \"{}\", must be an absolute path", path));
}

bool IsLoopback(std::string_view host) { return host.starts_with("127.") || host == "::1"; }

}  // namespace

void CheckAddresses(const AgentConfig& config, ConfigFaults& faults) {
  CheckAddress("probesAddress", config.probes_address, faults);
  CheckFile("metricsCertificate", config.metrics_certificate, faults);
  CheckFile("metricsKey", config.metrics_key, faults);
  CheckFile("metricsTokenFile", config.metrics_token_file, faults);
  if (config.metrics_certificate.empty() != config.metrics_key.empty()) {
    faults.Add(config.metrics_key.empty() ? "metricsCertificate" : "metricsKey",
               "is given alone: give metricsCertificate and metricsKey together");
  }
  const std::string host = CheckAddress("metricsAddress", config.metrics_address, faults);
  if (host.empty() || IsLoopback(host)) return;
  if (!config.metrics_certificate.empty() && !config.metrics_token_file.empty()) return;
  // Metrics and /readyz name devices, namespaces and drivers: the operator decides who may read
  // them.
  faults.Add(
      "metricsAddress",
      fmt::format(
          "is \"{}\", which other machines can reach: give metricsCertificate, metricsKey and "
          "metricsTokenFile as well, or listen on 127.0.0.1; probesAddress is for a "
          "kubelet's probes",
          Printable(ToValidUtf8(config.metrics_address))));
}

}  // namespace galen::agent
