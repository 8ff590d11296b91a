#include "kube/config.h"

#include "base/text.h"
#include "kube/proxy.h"
#include "kube/url.h"

namespace galen::kube {
namespace {

// Where a kubelet puts a Pod's own credentials.
const std::string kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

bool NamesKubeconfig(FileSystem& files, const Environment& environment,
                     const KubeconfigOptions& options) {
  if (!options.path.empty() || Lookup(environment, "KUBECONFIG")) return true;
  const auto home = Lookup(environment, "HOME");
  return home && files.Read(*home + "/.kube/config").ok();
}

}  // namespace

StatusOr<ClusterConfig> InClusterConfig(FileSystem& files, const Environment& environment) {
  const auto host = Lookup(environment, "KUBERNETES_SERVICE_HOST");
  const auto port = Lookup(environment, "KUBERNETES_SERVICE_PORT");
  if (!host || !port) {
    return FailedPrecondition(
        "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  ClusterConfig config;
  // The variable holds a bare address.
  const bool ipv6 = host->find(':') != std::string::npos;
  config.server = ipv6 ? fmt::format("https://[{}]:{}", *host, *port)
                       : fmt::format("https://{}:{}", *host, *port);
  config.ca_file = kServiceAccount + "ca.crt";
  config.credentials.token_file = kServiceAccount + "token";
  // Read now, so that a Pod without a mounted token fails at its start and not at its first call.
  for (const std::string& path : {config.ca_file, config.credentials.token_file}) {
    const StatusOr<std::string> text = files.Read(path);
    if (!text.ok())
      return Annotate(text.status(),
                      "read the Pod's service account (is automountServiceAccountToken off?)");
  }
  // Some clusters leave it out; "default" will do.
  if (const StatusOr<std::string> ns = files.Read(kServiceAccount + "namespace"); ns.ok()) {
    if (std::string name(Trimmed(*ns)); IsDnsLabel(name)) config.ns = std::move(name);
  }
  ASSIGN_OR_RETURN(const Url server, ParseUrl(config.server));
  config.proxy_url = ProxyFor(server, environment);
  return config;
}

StatusOr<ClusterConfig> FindConfig(FileSystem& files, const Environment& environment,
                                   const KubeconfigOptions& options) {
  if (NamesKubeconfig(files, environment, options))
    return LoadKubeconfig(files, environment, options);
  if (Lookup(environment, "KUBERNETES_SERVICE_HOST")) return InClusterConfig(files, environment);
  return FailedPrecondition(
      "no API server is named: there is no ~/.kube/config, and this is not a Pod; set KUBECONFIG "
      "or give --kubeconfig");
}

}  // namespace galen::kube
