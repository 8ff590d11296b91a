// What passes between us and a credential plugin: client.authentication.k8s.io v1 and v1beta1.
// Source: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/ Pure functions.
// What a plugin prints is a secret: no error quotes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/config.h"

namespace galen::kube {

// What a plugin printed: a token, a certificate with its key, or both.
struct ExecCredential {
  std::string token = {};
  std::string certificate_pem = {};
  std::string key_pem = {};
  // By the wall clock, as the plugin says it; nullopt = until it is refused.
  std::optional<WallTime> expires = {};

  bool operator==(const ExecCredential&) const = default;
};

// The environment line with the plugin's request: "KUBERNETES_EXEC_INFO=…". Never interactive:
// nobody sits before an agent.
std::string ExecInfoVariable(const ExecPlugin& plugin, const ClusterConfig& config);

// InvalidArgument when it is no ExecCredential of the version asked for, holds nothing, or holds
// half of a certificate and key. Read as the end of a sentence about the plugin.
StatusOr<ExecCredential> ParseExecCredential(const ExecPlugin& plugin, std::string_view output);

}  // namespace galen::kube
