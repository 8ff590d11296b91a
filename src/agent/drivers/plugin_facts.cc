#include "agent/drivers/plugin_facts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "model/plugin_resource.h"
#include "net/address.h"

namespace galen::agent {
namespace {

// Kubernetes' limit on spec.driver of a ResourceSlice.
constexpr std::size_t kDriverNameBytesMax = 63;

// An unknown program's list may have any length.
std::span<const std::string> VersionsOf(const PluginAnswer& answer) {
  return std::span(answer.versions).first(std::min(answer.versions.size(), kVersionsMax));
}

// The plugin's own order decides, as in the kubelet.
std::optional<DraService> PickService(std::span<const std::string> versions) {
  for (const std::string& version : versions) {
    if (version == ToString(DraService::kV1)) return DraService::kV1;
    if (version == ToString(DraService::kV1Beta1)) return DraService::kV1Beta1;
  }
  return std::nullopt;
}

// Here the reader's order decides, as in the kubelet since 1.37.
HealthService PickHealth(std::span<const std::string> versions) {
  const auto has = [&](std::string_view name) {
    return std::find(versions.begin(), versions.end(), name) != versions.end();
  };
  if (has("v1.DRAResourceHealth")) return HealthService::kV1;
  if (has("v1alpha1.DRAResourceHealth")) return HealthService::kV1Alpha1;
  return HealthService::kNone;
}

// A health source may be for a device plugin's resource as well.
Status CheckName(const std::string& name, bool of_source) {
  if (of_source && IsResourceName(name)) return OkStatus();
  if (name.empty()) return InvalidArgument("the driver's name is empty");
  if (name.size() > kDriverNameBytesMax) {
    return InvalidArgument("driver name \"{}\" is {} bytes, at most {} fit", Shown(name),
                           name.size(), kDriverNameBytesMax);
  }
  if (!IsDnsSubdomain(name)) {
    return InvalidArgument("driver name \"{}\" is no DNS subdomain", Shown(name));
  }
  return OkStatus();
}

// By parts of the path, so that "/var/lib/kubelet2" is not inside "/var/lib/kubelet". The root
// itself is not inside either.
bool IsInside(const std::filesystem::path& path, const std::filesystem::path& root) {
  const auto [root_end, path_rest] =
      std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return root_end == root.end() && path_rest != path.end();
}

// Checked both as written and with symlinks resolved: a symlinked directory must not lead out.
Status CheckInside(const std::string& endpoint, const PluginRules& rules) {
  const std::filesystem::path path = std::filesystem::path(endpoint).lexically_normal();
  const std::filesystem::path root =
      std::filesystem::path(rules.kubelet_root + "/").lexically_normal().parent_path();
  if (!IsInside(path, root)) {
    return InvalidArgument("endpoint {} is not inside {}", Shown(endpoint), rules.kubelet_root);
  }
  // The parent, not the endpoint: its socket need not be there yet.
  ASSIGN_OR_RETURN(const std::string real_root, rules.real_path(root.string()));
  ASSIGN_OR_RETURN(const std::string real_parent, rules.real_path(path.parent_path().string()));
  if (!IsInside(std::filesystem::path(real_parent) / path.filename(), real_root)) {
    return InvalidArgument("endpoint {} leads to {}, which is not inside {}", Shown(endpoint),
                           real_parent, real_root);
  }
  return OkStatus();
}

Status CheckEndpoint(const std::string& endpoint, const PluginRules& rules) {
  // The kubelet refuses the same: a relative path would mean another file in every process.
  if (!endpoint.starts_with('/')) {
    return InvalidArgument("endpoint \"{}\" is no absolute path", Shown(endpoint));
  }
  if (endpoint.size() > net::kSocketPathMax) {
    return InvalidArgument("endpoint {} is {} bytes, at most {} fit a socket's address",
                           Shown(endpoint), endpoint.size(), net::kSocketPathMax);
  }
  if (endpoint != Printable(ToValidUtf8(endpoint))) {
    return InvalidArgument("endpoint \"{}\" holds characters that no path should", Shown(endpoint));
  }
  return rules.kubelet_root.empty() ? OkStatus() : CheckInside(endpoint, rules);
}

}  // namespace

std::string_view ToString(DraService service) {
  switch (service) {
    case DraService::kV1:
      return "v1.DRAPlugin";
    case DraService::kV1Beta1:
      return "v1beta1.DRAPlugin";
  }
  GALEN_UNREACHABLE();
}

std::string_view ToString(HealthService service) {
  switch (service) {
    case HealthService::kNone:
      return "none";
    case HealthService::kV1:
      return "v1";
    case HealthService::kV1Alpha1:
      return "v1alpha1";
  }
  GALEN_UNREACHABLE();
}

StatusOr<PluginFacts> JudgePlugin(const PluginAnswer& answer, const std::string& socket,
                                  const PluginRules& rules) {
  RETURN_IF_ERROR(CheckName(answer.name, rules.health_sources));
  PluginFacts facts{.driver = answer.name,
                    .endpoint = answer.endpoint.empty() ? socket : answer.endpoint};
  RETURN_IF_ERROR(CheckEndpoint(facts.endpoint, rules));
  facts.health = PickHealth(VersionsOf(answer));
  if (rules.health_sources) {
    if (facts.health != HealthService::kNone) return facts;
    return InvalidArgument("the health source for {} offers no v1.DRAResourceHealth", answer.name);
  }
  const std::optional<DraService> service = PickService(VersionsOf(answer));
  if (!service) {
    return InvalidArgument("driver {} offers [{}], we support v1.DRAPlugin and v1beta1.DRAPlugin",
                           answer.name,
                           Shown(fmt::format("{}", fmt::join(VersionsOf(answer), ", "))));
  }
  facts.service = *service;
  return facts;
}

}  // namespace galen::agent
