// A certificate authority of our own, for the simulated API server and for tests: makes server and
// client certificates with ECDSA P-256 keys, which kubectl, Go and OpenSSL all accept and which are
// made quickly. Keys and serial numbers come from OpenSSL's own random numbers. Nothing outside a
// simulation should trust it.
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
  // A new self-signed authority with its own key. `name` is its common name. Valid from an hour
  // before `now` (clocks differ) for kValidity. Internal when OpenSSL fails.
  static StatusOr<std::unique_ptr<CertificateAuthority>> Create(const std::string& name,
                                                                WallTime now);
  // A stored authority. InvalidArgument when a part is no PEM or the two do not belong together.
  // Dates are not checked: an expired one is loaded, but clients refuse what it signs; see
  // expires().
  static StatusOr<std::unique_ptr<CertificateAuthority>> Load(const CertificatePair& pair);
  ~CertificateAuthority();

  // The same authority, by name and key, with a new certificate, valid as in Create. Clients that
  // trust the old certificate trust what the new one signs while the old one is valid.
  StatusOr<std::unique_ptr<CertificateAuthority>> Renewed(WallTime now) const;
  // The end of the authority's own certificate.
  WallTime expires() const;

  // A pair for a TLS server, valid as in Create. `names` are DNS names and IP addresses (those
  // become IP entries); the first is the common name too. InvalidArgument for no names, or a name
  // with ',', ':' or a line break. Each call makes a new key.
  StatusOr<CertificatePair> IssueServer(const std::vector<std::string>& names, WallTime now) const;
  // A pair for a TLS client. Kubernetes reads the user from the common name (CN) and groups from
  // the organizations (O).
  StatusOr<CertificatePair> IssueClient(const std::string& user,
                                        const std::vector<std::string>& groups, WallTime now) const;

  // What clients trust (the certificate) and the key to keep secret.
  const CertificatePair& pair() const { return pair_; }

  // A year, as kubeadm's leaf certificates; the authority's own is no longer valid either.
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
