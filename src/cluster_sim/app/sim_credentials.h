// The credentials of galen-sim: its certificate authority, the administrator's token, further users
// from a file, and the kubeconfig with them. Functions without state; they read and write files and
// ask the system for random numbers.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "api_sim/serving/access.h"
#include "base/files/file_system.h"
#include "cluster_sim/app/certificate_authority.h"

namespace galen::cluster_sim {

// A bearer token that cannot be guessed: 48 hexadecimal digits, 192 random bits. Internal when the
// system has no random numbers.
StatusOr<std::string> MakeToken();

// Both are secrets; the token gives full access.
struct SimCredentials {
  std::unique_ptr<CertificateAuthority> authority;
  std::string admin_token;
};

// The credentials stored in `directory` (ca.crt, ca.key, admin.token), or new ones that are stored
// there, so that a kubeconfig stays valid after a restart. New ones each time when `directory` is
// "". A stored authority with less than half of its validity left gets a new certificate for the
// same key. InvalidArgument when stored files are damaged: they are never replaced silently.
StatusOr<SimCredentials> LoadOrMakeCredentials(FileSystem& files, const std::string& directory,
                                               WallTime now);

// kube-apiserver's --token-auth-file: lines of `token,user,uid[,"group1,group2"]`; the uid is not
// used. Returns the users by token. Every user has full access. Empty lines are skipped;
// InvalidArgument names every bad line, by its number and never its token.
StatusOr<std::map<std::string, api_sim::User>> ParseTokenFile(std::string_view text);

// A kubeconfig with one context for the administrator, as YAML. Holds the token: keep it private.
std::string Kubeconfig(const std::string& url, const std::string& ca_pem, const std::string& token);

}  // namespace galen::cluster_sim
