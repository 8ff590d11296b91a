#include "kube/authenticator.h"

#include <utility>

#include "base/data/base64.h"

namespace galen::kube {
namespace {

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
  if (expired && !std::exchange(told_of_expiry_, true)) {
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
  // Others were faster: there is a newer one.
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
  log_.Warning("client certificate cannot be read, the last one stays",
               {{"file", mine.certificate_file}, {"why", fresh.status().message()}});
  return false;
}

}  // namespace galen::kube
