// What drivers keep of claims, and the files they write for container runtimes.
#include "base/check.h"
#include "model/cdi_spec.h"
#include "sdk/claims/prepared_claims.h"
#include "sdk/quantity.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {

void FuzzClaims(std::string_view bytes) {
  const auto prepared = sdk::ParsePreparedClaim(bytes);
  if (prepared.ok()) {
    const auto again = sdk::ParsePreparedClaim(sdk::ToJson(*prepared).Dump());
    GALEN_CHECK(again.ok() && *again == *prepared);
  }
  static_cast<void>(ReadCdiSpec("/etc/cdi/fuzz.json", bytes));
  static_cast<void>(ReadCdiSpec("/etc/cdi/fuzz.yaml", bytes));
  const auto id = ParseCdiId(bytes);
  if (id.ok()) GALEN_CHECK(id->kind + "=" + id->device == bytes);
  Input input(bytes);
  const std::string a(input.Text());
  const std::string b(input.Text());
  if (sdk::IsQuantity(a) && sdk::IsQuantity(b)) {
    GALEN_CHECK(sdk::SameQuantity(a, a));
    GALEN_CHECK(sdk::SameQuantity(a, b) == sdk::SameQuantity(b, a));
  }
}

}  // namespace galen::fuzz
