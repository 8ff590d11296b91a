#include "checks/check.h"

namespace galen::checks {

std::string_view CheckResult::group() const { return std::string_view(id).substr(0, id.find('.')); }

std::string_view CheckResult::name() const {
  return std::string_view(id).substr(group().size() + 1);
}

}  // namespace galen::checks
