// Picks the API that the suite is run against, then runs it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "tests/contract/api.h"

namespace {

constexpr char kServer[] = "GALEN_CONTRACT_SERVER";
constexpr char kVersion[] = "GALEN_CONTRACT_VERSION";

// Whether the API says that it is what the caller took it for; reported when it does not.
bool IsVersion(const std::string& wanted) {
  const galen::contract::Reply reply = galen::contract::TheApi().Get("/version");
  const std::string& version = reply.body["gitVersion"].AsString();
  if (version == "v" + wanted) return true;
  fmt::print(stderr, "{} is {}, and the API server says that it is \"{}\" (status {})\n", kVersion,
             wanted, version, reply.code);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const galen::Environment environment = galen::ReadEnvironment();
  const auto variable = [&](const char* name) {
    return galen::Lookup(environment, name).value_or("");
  };
  // Unset, the embedded API is tested; set to nothing it comes from a command that failed, and the
  // embedded one would be marked as another. GALEN_CONTRACT_CA names a file in PEM form.
  galen::contract::ApiAddress address{
      .server = variable(kServer), .token = variable("GALEN_CONTRACT_TOKEN"), .ca_pem = {}};
  if (address.server.empty() && environment.contains(kServer)) {
    fmt::print(stderr, "{} is empty: unset it to test the embedded API\n", kServer);
    return 2;
  }
  std::ifstream ca(variable("GALEN_CONTRACT_CA"));
  address.ca_pem.assign(std::istreambuf_iterator<char>(ca), {});
  galen::contract::UseApi(address);
  const std::string version = variable(kVersion);
  if (!version.empty() && !IsVersion(version)) return 2;
  return RUN_ALL_TESTS();
}
