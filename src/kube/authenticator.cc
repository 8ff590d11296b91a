#include "kube/authenticator.h"

#include <utility>

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

// Files end in a newline more often than not.
std::string Bearer(std::string_view token) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) {
    token.remove_suffix(1);
  }
  return token.empty() ? "" : fmt::format("Bearer {}", token);
}

StatusOr<std::string> TextOrFile(FileSystem& files, const std::string& text,
                                 const std::string& path) {
  return path.empty() ? StatusOr<std::string>(text) : files.Read(path);
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
  if (!parsed.ok()) return InvalidArgument("its output is not JSON");
  const Json& object = *parsed;
  if (object["kind"].AsString() != "ExecCredential") {
    return InvalidArgument("its output is not an ExecCredential");
  }
  // A plugin that ignores what was asked may mean something else by the same fields.
  if (object["apiVersion"].AsString() != plugin.api_version) {
    return InvalidArgument("it answers in version \"{}\" instead of {}",
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

Authenticator::Authenticator(Loop& loop, Log& log, FileSystem& files, ExecRunner& exec,
                             const ClusterConfig& config)
    : loop_(loop), log_(log), files_(files), exec_(exec), config_(config) {
  const Credentials& mine = config.credentials;
  if (!mine.token.empty()) authorization_ = Bearer(mine.token);
  if (!mine.username.empty()) {
    authorization_ = "Basic " + EncodeBase64(mine.username + ":" + mine.password);
  }
}

bool Authenticator::ready() const {
  if (config_.credentials.exec) {
    // Without an expiry it is good until the server says otherwise.
    if (!given_) return false;
    if (loop_.Now() - given_at_ < kUseAtLeast) return true;
    return !given_->expires || loop_.WallNow() + kExpirySkew < *given_->expires;
  }
  if (config_.credentials.token_file.empty()) return true;
  return token_read_at_ && loop_.Now() - *token_read_at_ < kTokenFileAge;
}

void Authenticator::Prepare(std::function<void(const Status&)> done) {
  if (config_.credentials.exec) return RunPlugin(std::move(done));
  if (!config_.credentials.token_file.empty()) return done(ReadTokenFile());
  done(OkStatus());
}

// The last good token is kept: a file that is being replaced must not lock us out.
Status Authenticator::ReadTokenFile() {
  const std::string& path = config_.credentials.token_file;
  const StatusOr<std::string> text = files_.Read(path);
  std::string fresh = text.ok() ? Bearer(*text) : "";
  if (!fresh.empty()) {
    authorization_ = std::move(fresh);
  } else {
    const std::string why = text.ok() ? "the file is empty" : text.status().message();
    if (authorization_.empty()) return Unauthenticated("token file {}: {}", path, why);
    log_.Warning("token file cannot be read, the last token stays", {{"file", path}, {"why", why}});
  }
  // Also after a failure: the next look is a minute away, not at every call.
  token_read_at_ = loop_.Now();
  return OkStatus();
}

void Authenticator::RunPlugin(std::function<void(const Status&)> done) {
  ExecPlugin plugin = *config_.credentials.exec;
  // Last, so that it wins over a variable of the same name in the configuration.
  plugin.environment.push_back(ExecInfoVariable(plugin, config_));
  exec_.Run(plugin, [this, watch = Liveness::Watch(liveness_),
                     done = std::move(done)](const StatusOr<std::string>& output) {
    if (watch.alive()) done(TakePluginsAnswer(output));
  });
}

Status Authenticator::TakePluginsAnswer(const StatusOr<std::string>& output) {
  const ExecPlugin& plugin = *config_.credentials.exec;
  StatusOr<ExecCredential> credential =
      output.ok() ? ParseExecCredential(plugin, *output) : output.status();
  if (!credential.ok()) {
    const std::string hint = plugin.install_hint.empty() ? "" : "; " + plugin.install_hint;
    return Unauthenticated("credential plugin \"{}\": {}{}", plugin.command.front(),
                           credential.status().message(), hint);
  }
  given_ = std::move(credential).value();
  given_at_ = loop_.Now();
  const bool expired = given_->expires && *given_->expires <= loop_.WallNow();
  if (expired && !std::exchange(warned_of_expiry_, true)) {
    log_.Warning(
        "a credential plugin gave what has expired already; is this machine's clock right?",
        {{"plugin", plugin.command.front()},
         {"expired", FormatRfc3339(*given_->expires)},
         {"now", FormatRfc3339(loop_.WallNow())}});
  }
  authorization_ = Bearer(given_->token);
  return OkStatus();
}

StatusOr<ClientCertificate> Authenticator::Certificate() {
  if (given_ && !given_->certificate_pem.empty()) {
    return ClientCertificate{given_->certificate_pem, given_->key_pem};
  }
  const Credentials& mine = config_.credentials;
  ClientCertificate certificate;
  ASSIGN_OR_RETURN(certificate.certificate_pem,
                   TextOrFile(files_, mine.certificate_pem, mine.certificate_file));
  ASSIGN_OR_RETURN(certificate.key_pem, TextOrFile(files_, mine.key_pem, mine.key_file));
  read_ = certificate;
  return certificate;
}

bool Authenticator::Outdated(const ClientCertificate& shown) const {
  if (given_ && !given_->certificate_pem.empty()) {
    return shown != ClientCertificate{given_->certificate_pem, given_->key_pem};
  }
  // A plugin that runs, or gave only a token, supplies no certificate.
  return !config_.credentials.exec && read_ && shown != *read_;
}

bool Authenticator::Reject(const std::string& authorization, const ClientCertificate& shown) {
  // Another call was faster: there are newer credentials.
  if (authorization != authorization_ || Outdated(shown)) return true;
  if (config_.credentials.exec) {
    given_.reset();
    return true;
  }
  const bool token = !config_.credentials.token_file.empty() && ReadTokenFile().ok() &&
                     authorization != authorization_;
  return HasAnotherCertificate(shown) || token;
}

bool Authenticator::HasAnotherCertificate(const ClientCertificate& shown) {
  const Credentials& mine = config_.credentials;
  if (mine.certificate_file.empty() && mine.key_file.empty()) return false;
  const StatusOr<ClientCertificate> fresh = Certificate();
  if (fresh.ok()) return *fresh != shown;
  log_.Warning("client certificate cannot be read, the last one stays in use",
               {{"file", mine.certificate_file}, {"why", fresh.status().message()}});
  return false;
}

}  // namespace galen::kube
