// Fills in commands and labels for one device: "{pci}" becomes the device's bus address. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace galen::probes {

// A device as commands and exporters know it.
struct CheckedDevice {
  std::string name{};
  // The values of placeholders, by their names (kPlaceholders).
  std::map<std::string, std::string> known{};

  bool operator==(const CheckedDevice&) const = default;
};

// The device's name in the inventory, and those of its attributes that it is known by elsewhere.
inline constexpr std::string_view kPlaceholders[] = {"device", "pci",  "uuid",
                                                     "serial", "path", "interface"};

// The first brace of the text that is not part of a placeholder; "" when there is none.
std::string WrongPlaceholder(std::string_view text);

// The text with its placeholders filled in, or the first that the device lacks.
struct FilledText {
  std::string text{};
  std::string missing{};
};
// REQUIRES: no wrong placeholder.
FilledText FillPlaceholders(std::string_view text, const CheckedDevice& device);

}  // namespace galen::probes
