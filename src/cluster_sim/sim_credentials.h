// Who may talk to galen-sim and how they know it: its certificate authority, the administrator's
// token, further users from a file, and the kubeconfig that puts it together.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/file_system.h"
#include "cluster_sim/access.h"
#include "cluster_sim/certificate_authority.h"

namespace galen::cluster_sim {

// A bearer token that nobody can guess. Internal when the system has no random numbers.
StatusOr<std::string> MakeToken();

struct SimCredentials {
  std::unique_ptr<CertificateAuthority> authority;
  std::string admin_token;
};

// Those kept in `directory`, or new ones that are then kept there, so that a kubeconfig outlives a
// restart. New ones each time when `directory` is "".
StatusOr<SimCredentials> LoadOrMakeCredentials(FileSystem& files, const std::string& directory,
                                               WallTime now);

// kube-apiserver's token file: lines of `token,user,uid[,"group1,group2"]`; the uid is not used.
// Here every user may do everything. Every bad line is named, by its number and never its token.
StatusOr<std::map<std::string, User>> ParseTokenFile(std::string_view text);

// A kubeconfig with one context for the administrator.
std::string Kubeconfig(const std::string& url, const std::string& ca_pem, const std::string& token);

}  // namespace galen::cluster_sim
