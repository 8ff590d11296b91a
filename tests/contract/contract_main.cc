// Picks the API that the suite is run against, then runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "tests/contract/api.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const galen::Environment environment = galen::ReadEnvironment();
  const auto variable = [&](const char* name) {
    return galen::Lookup(environment, name).value_or("");
  };
  // Unset, the embedded API is tested; GALEN_CONTRACT_CA names a file in PEM form.
  galen::contract::ApiAddress address{.server = variable("GALEN_CONTRACT_SERVER"),
                                      .token = variable("GALEN_CONTRACT_TOKEN"),
                                      .ca_pem = {}};
  std::ifstream ca(variable("GALEN_CONTRACT_CA"));
  address.ca_pem.assign(std::istreambuf_iterator<char>(ca), {});
  galen::contract::UseApi(address);
  return RUN_ALL_TESTS();
}
