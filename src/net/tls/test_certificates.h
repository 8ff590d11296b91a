// Certificates made on the spot, good ones and bad ones, for tests of TLS. Never used by programs.
// Keys are P-256; nothing is kept on disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"

namespace galen::net {

struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

// A root of its own for each test; valid for two hours either way.
class TestAuthority {
 public:
  // Alternative names of the leaf: DNS names and IP addresses.
  struct Wanted {
    std::vector<std::string> names{};
    std::vector<std::string> addresses{};
    // From now; negative ones make an expired certificate, or one that is not valid yet.
    std::chrono::seconds valid_from = std::chrono::hours(-1);
    std::chrono::seconds valid_until = std::chrono::hours(1);
  };

  explicit TestAuthority(const std::string& name);
  ~TestAuthority();

  // A leaf with a new key, signed by this authority.
  TestCertificate Issue(const Wanted& wanted) const;
  const std::string& pem() const { return pem_; }

 private:
  struct Impl;

  std::unique_ptr<Impl> impl_;
  std::string pem_;
};

}  // namespace galen::net
