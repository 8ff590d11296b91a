// A certificate authority of our own, for the simulated API server and for tests: makes server and
// client certificates with ECDSA P-256 keys. Keys and serial numbers come from OpenSSL's own random
// numbers. Nothing outside a simulation should trust it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace galen::cluster_sim {

struct CertificatePair {
  std::string certificate_pem;
  std::string key_pem;
};

class CertificateAuthority {
 public:
  // A new one, valid from an hour before `now` (clocks differ) for kValidity.
  static StatusOr<std::unique_ptr<CertificateAuthority>> Create(const std::string& name,
                                                                WallTime now);
  // One that was kept. InvalidArgument when the two do not belong together.
  static StatusOr<std::unique_ptr<CertificateAuthority>> Load(const CertificatePair& pair);
  ~CertificateAuthority();

  // `names` are DNS names and IP addresses; at least one.
  StatusOr<CertificatePair> IssueServer(const std::vector<std::string>& names, WallTime now) const;
  // Kubernetes reads the user from the common name and groups from the organizations.
  StatusOr<CertificatePair> IssueClient(const std::string& user,
                                        const std::vector<std::string>& groups, WallTime now) const;

  // What clients trust, and the key to keep secret.
  const CertificatePair& pair() const { return pair_; }

  static constexpr Duration kValidity = std::chrono::hours(24 * 365);

 private:
  struct Impl;
  CertificateAuthority(std::unique_ptr<Impl> impl, CertificatePair pair);

  std::unique_ptr<Impl> impl_;
  CertificatePair pair_;
};

}  // namespace galen::cluster_sim
