// Kubernetes' quantities: "16Gi", "1.5e3", "250m". Pure.
#pragma once

#include <string>
#include <string_view>

namespace galen::sdk {

// A signed decimal, then a binary or decimal suffix or an exponent, at most 64 bytes
// (apimachinery's resource.Quantity).
bool IsQuantity(const std::string& text);

// Whether both are the same amount. An API server writes quantities in a form of its own, so that
// what it gives back of "1024Mi" is "1Gi". Texts that are no quantities are compared as they are.
bool SameQuantity(const std::string& a, const std::string& b);

}  // namespace galen::sdk
