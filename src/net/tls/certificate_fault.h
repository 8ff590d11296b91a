// Says in a sentence why a certificate was not accepted. Internal to this room.
#pragma once

#include <string>

struct x509_st;

namespace galen::net {

// `error` is one of X509_V_ERR_…; `certificate` the one it is about, may be null; `expected_name`
// is the name or IP address that the client asked for. Gives a sentence's end, "is signed by an
// unknown authority, …", to be read after the name of whose certificate it is. Text from the
// certificate is made printable. No secrets are in it.
std::string DescribeCertificateFault(int error, const x509_st* certificate,
                                     const std::string& expected_name);

}  // namespace galen::net
