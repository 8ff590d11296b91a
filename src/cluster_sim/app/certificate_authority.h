// A certificate authority of our own, for the simulated API server and for tests: makes server and
// client certificates with ECDSA P-256 keys, which kubectl, Go and OpenSSL all take and which are
// made in no time. Keys and serial numbers come from OpenSSL's own random numbers. Nothing outside
// a simulation should trust it.
// Immutable after creation; its functions may be called from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace galen::cluster_sim {

// Both in PEM form; the key is PKCS #8 without a passphrase, so the pair is a secret.
struct CertificatePair {
  std::string certificate_pem;
  std::string key_pem;
};

class CertificateAuthority {
 public:
  // A new one with a key of its own, signed by itself. `name` is its common name. Valid from an
  // hour before `now` (clocks differ) for kValidity. Internal when OpenSSL cannot.
  static StatusOr<std::unique_ptr<CertificateAuthority>> Create(const std::string& name,
                                                                WallTime now);
  // One that was kept. InvalidArgument when a part is no PEM or the two do not belong together. Its
  // dates are not looked at: one that ran out is loaded, and clients then refuse what it signs; see
  // expires().
  static StatusOr<std::unique_ptr<CertificateAuthority>> Load(const CertificatePair& pair);
  ~CertificateAuthority();

  // The same authority, by name and key, with a certificate that is valid anew, as Create says. Who
  // trusts the old certificate trusts what the new one signs, for as long as the old one is valid.
  StatusOr<std::unique_ptr<CertificateAuthority>> Renewed(WallTime now) const;
  // Until when the authority's own certificate is valid.
  WallTime expires() const;

  // A pair for a TLS server, valid as Create says. `names` are DNS names and IP addresses (those
  // become IP entries); the first is the common name too. InvalidArgument for none and for a name
  // that holds ',', ':' or a line break. Each call makes another key.
  StatusOr<CertificatePair> IssueServer(const std::vector<std::string>& names, WallTime now) const;
  // A pair for a TLS client. Kubernetes reads the user from the common name (CN) and groups from
  // the organizations (O).
  StatusOr<CertificatePair> IssueClient(const std::string& user,
                                        const std::vector<std::string>& groups, WallTime now) const;

  // What clients trust (the certificate) and the key to keep secret.
  const CertificatePair& pair() const { return pair_; }

  // A year, as kubeadm gives its leaf certificates; the authority itself lasts no longer.
  static constexpr Duration kValidity = std::chrono::hours(24 * 365);

 private:
  struct Impl;
  CertificateAuthority(std::unique_ptr<Impl> impl, CertificatePair pair);
  // `impl` has the key; gets a certificate that it signs itself.
  static StatusOr<std::unique_ptr<CertificateAuthority>> SelfSigned(std::unique_ptr<Impl> impl,
                                                                    const std::string& name,
                                                                    WallTime now);

  std::unique_ptr<Impl> impl_;
  CertificatePair pair_;
};

}  // namespace galen::cluster_sim
