#include "model/hardware_ids.h"

#include <algorithm>

namespace galen {
namespace {

constexpr std::string_view kShortForm = "xx:xx.x";
constexpr std::string_view kKernelForm = "xxxx:xx:xx.x";
constexpr std::string_view kLongForm = "xxxxxxxx:xx:xx.x";

bool HasForm(std::string_view text, std::string_view form) {
  const auto fits = [](char c, char wanted) {
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    return wanted == 'x' ? digit : c == wanted;
  };
  return text.size() == form.size() &&
         std::equal(text.begin(), text.end(), form.begin(), form.end(), fits);
}

}  // namespace

std::string NormalPciAddress(std::string_view text) {
  std::string address(text.substr(0, kLongForm.size() + 1));
  for (char& c : address) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (HasForm(address, kShortForm)) return "0000:" + address;
  // A domain of more than 16 bits is written out, by the kernel too (Intel's VMD has such).
  const bool padded = HasForm(address, kLongForm) && address.starts_with("0000");
  if (padded) return address.substr(4);
  return HasForm(address, kKernelForm) ? address : "";
}

}  // namespace galen
