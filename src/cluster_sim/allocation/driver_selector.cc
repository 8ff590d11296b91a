#include "cluster_sim/allocation/driver_selector.h"

#include "base/text.h"

namespace galen::cluster_sim {
namespace {

// Enough to recognize an expression by; the whole may be 10 KiB.
constexpr std::size_t kExpressionShownMax = 80;

// Takes `word` and the spaces after it off the front; false when something else is there.
bool Skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = Trimmed(text.substr(word.size()));
  return true;
}

}  // namespace

StatusOr<std::string> SelectedDriver(std::string_view expression) {
  // Made once for all the ways in which an expression is not the one that is known.
  const Status refused = InvalidArgument(
      "the CEL expression \"{}\" is not supported: only driver selection "
      "(device.driver == \"name\") is, until the allocator exists",
      Printable(CutText(expression, kExpressionShownMax)));
  std::string_view rest = Trimmed(expression);
  // CEL allows spaces between any two of these.
  if (!Skip(rest, "device") || !Skip(rest, ".") || !Skip(rest, "driver") || !Skip(rest, "==")) {
    return refused;
  }
  if (rest.size() < 2 || (rest.front() != '"' && rest.front() != '\'')) return refused;
  if (rest.back() != rest.front()) return refused;
  const std::string_view name = rest.substr(1, rest.size() - 2);
  // A driver's name is a DNS subdomain, so nothing in it can end the string early.
  if (!IsDnsSubdomain(name)) return refused;
  return std::string(name);
}

}  // namespace galen::cluster_sim
