// Where an API server is and how to be let in: from a kubeconfig, or from inside a Pod. Values and
// functions that read, at start only. Reading is separate from using: files named here are read
// again when they change (authenticator.h, transport.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files/file_system.h"

namespace galen::kube {

// A program that prints an ExecCredential (client.authentication.k8s.io/v1 or v1beta1).
struct ExecPlugin {
  std::string api_version = {};
  std::vector<std::string> command = {};
  // "KEY=value", on top of our own environment.
  std::vector<std::string> environment = {};
  // Shown to a person when the plugin does not run; "" = nothing.
  std::string install_hint = {};
  // Whether the plugin is given the cluster it is asked for.
  bool provide_cluster_info = false;
};

// Who we are; all empty is anonymous. Of a certificate or key and its file at most one is set;
// where token and token_file both are, the file wins, as in client-go. Of token, username and
// plugin at most one kind; a certificate may come with any of them.
struct Credentials {
  std::string token = {};       // bearer token
  std::string token_file = {};  // read again at least once a minute; the last good one is kept
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::string certificate_file = {};  // read again when dialling
  std::string key_file = {};
  // HTTP Basic; a proxy before the server may ask for it, kube-apiserver itself no longer does.
  std::string username = {}, password = {};
  std::optional<ExecPlugin> exec = {};
};

// The server, whom to trust and who we are. "" of a text means that it is not given.
struct ClusterConfig {
  std::string server = {};  // "https://127.0.0.1:6443" or "http://…", with an optional path prefix
  // Whom to trust; at most one of the two. Neither: the system's authorities.
  std::string ca_pem = {};
  std::string ca_file = {};
  // The name to verify and to ask for, when it is not the URL's host.
  std::string tls_server_name = {};
  bool skip_verification = false;
  std::string proxy_url = {};  // "http://proxy:3128", named or from HTTPS_PROXY; "" = none
  // The namespace for commands that name none.
  std::string ns = "default";
  Credentials credentials = {};
};

// The options of the command line.
struct KubeconfigOptions {
  std::string path =
      {};  // --kubeconfig; "" = $KUBECONFIG (several joined by ":"), else ~/.kube/config
  std::string context = {};  // --context; "" = current-context
};

// Reads and checks the kubeconfig as kubectl would: several files of KUBECONFIG are merged, of
// equal names the first counts; relative paths start at their file. Every fault of the files in one
// InvalidArgument, each with its file and field. What we cannot do (impersonation, auth-provider,
// https proxies) is a fault too, and never ignored.
StatusOr<ClusterConfig> LoadKubeconfig(FileSystem& files, const Environment& environment,
                                       const KubeconfigOptions& options);

// From /var/run/secrets/kubernetes.io/serviceaccount and KUBERNETES_SERVICE_HOST/PORT, where a
// kubelet puts them. FailedPrecondition outside of a Pod; the file's error when the service account
// is not mounted.
StatusOr<ClusterConfig> InClusterConfig(FileSystem& files, const Environment& environment);

// The kubeconfig when one is named or found, else in-cluster, else FailedPrecondition with advice.
// A kubeconfig that is named and broken is an error: it does not fall back.
StatusOr<ClusterConfig> FindConfig(FileSystem& files, const Environment& environment,
                                   const KubeconfigOptions& options);

}  // namespace galen::kube
