// The credentials that we show the API server, kept fresh: tokens, token files that rotate,
// certificates, plugins. A part of Transport, which asks before each call; knows nothing of
// connections. Belongs to its loop. Secrets stay here: no error and no log quotes one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/file_system.h"
#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/time.h"
#include "kube/config.h"
#include "kube/exec_runner.h"

namespace galen::kube {

// ---- What passes between us and a credential plugin is client.authentication.k8s.io v1 or
// v1beta1: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/

// The output of a plugin: a token, a certificate with its key, or both.
struct ExecCredential {
  std::string token = {};
  std::string certificate_pem = {};
  std::string key_pem = {};
  // By the wall clock, as the plugin gives it; nullopt = until it is refused.
  std::optional<WallTime> expires = {};

  bool operator==(const ExecCredential&) const = default;
};

// The environment line with the plugin's request: "KUBERNETES_EXEC_INFO=…". Never interactive:
// an agent has no user at a terminal.
std::string ExecInfoVariable(const ExecPlugin& plugin, const ClusterConfig& config);

// InvalidArgument when it is not an ExecCredential of the version asked for, holds nothing, or
// holds half of a certificate and key. Read as the end of a sentence about the plugin; never quotes
// the output, which is a secret.
StatusOr<ExecCredential> ParseExecCredential(const ExecPlugin& plugin, std::string_view output);

// PEM texts that belong together; both empty = none.
struct ClientCertificate {
  std::string certificate_pem;
  std::string key_pem;
  bool operator==(const ClientCertificate&) const = default;
};

class Authenticator {
 public:
  // A kubelet renews a Pod's token long before its end, so a minute late is early enough.
  static constexpr Duration kTokenFileAge = std::chrono::seconds(60);
  // A plugin's credentials are not used in the last moments before their end: they must live
  // through a call.
  static constexpr Duration kExpirySkew = std::chrono::seconds(10);
  // For at least this long they are used, whatever end they name: a plugin whose credentials live
  // shorter, or a machine whose clock is ahead, must not make us run the plugin without a pause. If
  // the credentials have really ended, the server says so.
  static constexpr Duration kUseAtLeast = std::chrono::seconds(10);

  // `config` is what Transport was made with; it and all else outlive this.
  Authenticator(Loop& loop, Log& log, FileSystem& files, ExecRunner& exec,
                const ClusterConfig& config);

  // Whether what we hold can be used now. Otherwise Prepare.
  bool ready() const;
  // Reads the token file or runs the plugin. `done` is called once, perhaps before this returns,
  // and never after this was destroyed. REQUIRES: no Prepare is under way.
  void Prepare(std::function<void(const Status&)> done);

  // The value of the Authorization header, or "".
  const std::string& authorization() const { return authorization_; }
  // The certificate for the next connection; its files are read now.
  StatusOr<ClientCertificate> Certificate();
  // Whether a connection that showed `shown` must give way to one with newer credentials, of a
  // plugin or of files that have been read again since.
  bool Outdated(const ClientCertificate& shown) const;

  // The server answered 401 to a call that showed `authorization`, on a connection that showed
  // `shown`: whether to try once more. Files are read again, for they may have rotated; the server
  // looks at a certificate's end at each request, not only when the connection begins.
  bool Reject(const std::string& authorization, const ClientCertificate& shown);

 private:
  Status ReadTokenFile();
  bool HasAnotherCertificate(const ClientCertificate& shown);
  void RunPlugin(std::function<void(const Status&)> done);
  Status TakePluginsAnswer(const StatusOr<std::string>& output);

  Loop& loop_;
  Log& log_;
  FileSystem& files_;
  ExecRunner& exec_;
  const ClusterConfig& config_;
  std::string authorization_;
  // When the token file was last tried, with or without success; nullopt: never.
  std::optional<Time> token_read_at_;
  std::optional<ClientCertificate> read_;  // last, of the configuration or its files
  std::optional<ExecCredential> given_;    // by the plugin
  Time given_at_{};
  bool warned_of_expiry_ = false;
  // Dies with us, so that the answer of a plugin that ends late is dropped.
  Liveness liveness_;
};

}  // namespace galen::kube
