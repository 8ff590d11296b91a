// Where an API server is and how to be let in: from a kubeconfig, or from inside a Pod.
// Reading is separate from using: files named here are read again when they change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/file_system.h"

namespace galen::kube {

// A program that prints an ExecCredential (client.authentication.k8s.io/v1 or v1beta1).
struct ExecPlugin {
  std::string api_version = {};
  std::vector<std::string> command = {};
  std::vector<std::string> environment = {};  // "KEY=value"
  std::string install_hint = {};
  bool provide_cluster_info = false;
};

struct Credentials {
  std::string token = {};       // bearer token
  std::string token_file = {};  // read again at least once a minute; the last good one is kept
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::string certificate_file = {};  // read again when dialling
  std::string key_file = {};
  std::string username = {}, password = {};
  std::optional<ExecPlugin> exec = {};
};

struct ClusterConfig {
  std::string server = {};  // "https://127.0.0.1:6443" or "http://…", with an optional path prefix
  std::string ca_pem = {};
  std::string ca_file = {};
  std::string tls_server_name = {};
  bool skip_verification = false;
  std::string proxy_url = {};  // "http://proxy:3128", named or from HTTPS_PROXY; "" = none
  std::string ns = "default";
  Credentials credentials = {};
};

struct KubeconfigOptions {
  std::string path =
      {};  // --kubeconfig; "" = $KUBECONFIG (several joined by ":"), else ~/.kube/config
  std::string context = {};  // --context; "" = current-context
};

// Every fault of the files in one InvalidArgument, each with its file and field.
StatusOr<ClusterConfig> LoadKubeconfig(FileSystem& files, const Environment& environment,
                                       const KubeconfigOptions& options);

// From /var/run/secrets/kubernetes.io/serviceaccount and KUBERNETES_SERVICE_HOST/PORT.
StatusOr<ClusterConfig> InClusterConfig(FileSystem& files, const Environment& environment);

// The kubeconfig when one is named or found, else in-cluster.
StatusOr<ClusterConfig> FindConfig(FileSystem& files, const Environment& environment,
                                   const KubeconfigOptions& options);

}  // namespace galen::kube
