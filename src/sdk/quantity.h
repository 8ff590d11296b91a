// Kubernetes' quantities: "16Gi", "1.5e3", "250m". Pure.
#pragma once

#include <string>
#include <string_view>

namespace galen::sdk {

// A signed decimal, then a binary or decimal suffix or an exponent, at most 64 bytes
// (apimachinery's resource.Quantity).
bool IsQuantity(const std::string& text);

// Whether both are the same amount. An API server rewrites quantities, so that "1024Mi" comes back
// as "1Gi". Texts that are no quantities are compared as text.
bool SameQuantity(const std::string& a, const std::string& b);

}  // namespace galen::sdk
