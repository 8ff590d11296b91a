#include "kube/exec_credential.h"

#include "base/data/base64.h"
#include "base/data/json.h"

namespace galen::kube {
namespace {

// The Cluster type of client.authentication.k8s.io; named as in a kubeconfig.
Json ClusterInfo(const ClusterConfig& config) {
  Json cluster = Json::MakeObject({{"server", config.server}});
  if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
  if (config.skip_verification) cluster["insecure-skip-tls-verify"] = true;
  if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
  if (!config.ca_pem.empty()) cluster["certificate-authority-data"] = EncodeBase64(config.ca_pem);
  return cluster;
}

}  // namespace

std::string ExecInfoVariable(const ExecPlugin& plugin, const ClusterConfig& config) {
  Json spec = Json::MakeObject({{"interactive", false}});
  if (plugin.provide_cluster_info) spec["cluster"] = ClusterInfo(config);
  const Json info = Json::MakeObject(
      {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}});
  return "KUBERNETES_EXEC_INFO=" + info.Dump();
}

StatusOr<ExecCredential> ParseExecCredential(const ExecPlugin& plugin, std::string_view output) {
  const StatusOr<Json> parsed = Json::Parse(output);
  // The output is a secret even when it is broken: it is never quoted.
  if (!parsed.ok()) return InvalidArgument("its output is no JSON");
  const Json& object = *parsed;
  if (object["kind"].AsString() != "ExecCredential") {
    return InvalidArgument("its output is no ExecCredential");
  }
  // A plugin that ignores what was asked may mean something else by the same fields.
  if (object["apiVersion"].AsString() != plugin.api_version) {
    return InvalidArgument("it answers in version \"{}\", asked was {}",
                           object["apiVersion"].AsString(), plugin.api_version);
  }
  const Json& status = object["status"];
  ExecCredential credential{.token = status["token"].AsString(),
                            .certificate_pem = status["clientCertificateData"].AsString(),
                            .key_pem = status["clientKeyData"].AsString()};
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return InvalidArgument("it gives a certificate or a key without the other");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return InvalidArgument("it gives neither a token nor a certificate");
  }
  if (const std::string& expires = status["expirationTimestamp"].AsString(); !expires.empty()) {
    const StatusOr<WallTime> time = ParseRfc3339(expires);
    if (!time.ok()) return Annotate(time.status(), "its expirationTimestamp");
    credential.expires = *time;
  }
  return credential;
}

}  // namespace galen::kube
