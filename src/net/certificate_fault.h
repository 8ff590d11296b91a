// Says in a sentence why a certificate was not accepted. Internal to this room.
#pragma once

#include <string>

struct x509_st;

namespace galen::net {

// `error` is one of X509_V_ERR_…; `certificate` the one it is about, may be null.
// "is signed by an unknown authority, …", to be read after the name of whose certificate it is.
std::string DescribeCertificateFault(int error, const x509_st* certificate,
                                     const std::string& expected_name);

}  // namespace galen::net
