// What a plugin answers to GetInfo, checked by the kubelet's rules: whether it is a DRA driver,
// whether its endpoint may be dialled, and which versions are used. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::agent {

// The answer to GetInfo (pluginregistration.PluginInfo), as it came: nothing in it is checked.
struct PluginAnswer {
  std::string type;
  std::string name;
  std::string endpoint;
  std::vector<std::string> versions;
};

// The services of dra/v1 (since Kubernetes 1.34) and dra/v1beta1; they differ in share_id only.
enum class DraService { kV1, kV1Beta1 };
// Those of dra-health/v1 (since 1.37) and v1alpha1; kNone: not advertised, so never asked for.
enum class HealthService { kNone, kV1, kV1Alpha1 };
std::string_view ToString(DraService service);     // "v1.DRAPlugin"
std::string_view ToString(HealthService service);  // "v1", "v1alpha1", "none"

// A driver that may be connected to.
struct PluginFacts {
  std::string driver;
  std::string endpoint;  // absolute path of its socket
  DraService service = DraService::kV1;
  HealthService health = HealthService::kNone;

  bool operator==(const PluginFacts&) const = default;
};

// What a plugin is judged by, beside its own answer.
struct PluginRules {
  // Endpoints lie in this directory; "" allows any.
  std::string kubelet_root;
  // Health sources are wanted rather than drivers: they report the health of a driver's devices,
  // serve no claims, and name the driver that they are for.
  bool health_sources = false;
  std::function<StatusOr<std::string>(const std::string& path)> real_path;
};

inline constexpr std::string_view kDraPluginType = "DRAPlugin";
// As the SDK's health source announces it; no kubelet knows the type.
inline constexpr std::string_view kHealthSourceType = "galen.dev/HealthSource";
inline constexpr std::size_t kVersionsMax = 64;  // of one answer; more are not looked at

// `socket` is where the plugin registered; it stands for an empty endpoint. InvalidArgument says
// what is wrong and what would be right.
StatusOr<PluginFacts> JudgePlugin(const PluginAnswer& answer, const std::string& socket,
                                  const PluginRules& rules);

}  // namespace galen::agent
