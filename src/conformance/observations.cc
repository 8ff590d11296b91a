// Tested by registration_checks_test.cc, which reads versions through it.
#include "conformance/observations.h"

#include <algorithm>

namespace galen::conformance {

bool Info::Offers(std::string_view version) const {
  return std::find(versions.begin(), versions.end(), version) != versions.end();
}

}  // namespace galen::conformance
