// What passes between us and a credential plugin: client.authentication.k8s.io v1 and v1beta1.
// Source: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/config.h"

namespace galen::kube {

// What a plugin printed.
struct ExecCredential {
  std::string token = {};
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::optional<WallTime> expires = {};

  bool operator==(const ExecCredential&) const = default;
};

// The line that tells a plugin what is asked of it, for its environment.
std::string ExecInfoVariable(const ExecPlugin& plugin, const ClusterConfig& config);

StatusOr<ExecCredential> ParseExecCredential(const ExecPlugin& plugin, std::string_view output);

}  // namespace galen::kube
