#include "sdk/socket_paths.h"

#include <fmt/format.h>

#include <vector>

#include "net/address.h"
#include "sdk/digest.h"

namespace galen::sdk {
namespace {

// The first candidate that fits into a socket address.
StatusOr<std::string> FirstThatFits(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    if (path.size() <= net::kSocketPathMax) return path;
  }
  return InvalidArgument("socket path {} has {} bytes, at most {} fit: shorten the kubelet root",
                         candidates.back(), candidates.back().size(), net::kSocketPathMax);
}

// The names and their order are those of Kubernetes' kubeletplugin since 1.37, so that a person
// finds the file he expects.
std::vector<std::string> RegistrationNames(std::string_view driver, std::string_view instance) {
  if (instance.empty()) return {fmt::format("{}-reg.sock", driver)};
  // The zero keeps "a" + "bc" from being "ab" + "c".
  const std::string both = fmt::format("{}{}{}", driver, '\0', instance);
  return {fmt::format("{}-{}-reg.sock", driver, instance),
          fmt::format("{}-{}-reg.sock", driver, DigestBase64Url(instance, 8)),
          fmt::format("dra-{}-reg.sock", DigestBase64Url(both, 16))};
}

std::vector<std::string> DataNames(std::string_view instance) {
  if (instance.empty()) return {"dra.sock"};
  return {fmt::format("dra-{}.sock", instance),
          fmt::format("dra-{}.sock", DigestBase64Url(instance, 8))};
}

std::vector<std::string> In(const std::string& directory, std::vector<std::string> names) {
  for (std::string& name : names) name = directory + "/" + name;
  return names;
}

}  // namespace

StatusOr<SocketPaths> MakeSocketPaths(std::string_view kubelet_root, std::string_view driver,
                                      std::string_view instance) {
  SocketPaths paths;
  paths.registry = fmt::format("{}/plugins_registry", kubelet_root);
  paths.plugin_directory = fmt::format("{}/plugins/{}", kubelet_root, driver);
  ASSIGN_OR_RETURN(paths.registration,
                   FirstThatFits(In(paths.registry, RegistrationNames(driver, instance))));
  ASSIGN_OR_RETURN(paths.data, FirstThatFits(In(paths.plugin_directory, DataNames(instance))));
  return paths;
}

std::string PluginDirectory(std::string_view kubelet_root) {
  return fmt::format("{}/device-plugins", kubelet_root);
}

std::string KubeletSocket(std::string_view kubelet_root) {
  return PluginDirectory(kubelet_root) + "/kubelet.sock";
}

StatusOr<std::string> MakePluginSocketPath(std::string_view kubelet_root, std::string_view driver) {
  return FirstThatFits(
      In(PluginDirectory(kubelet_root),
         {fmt::format("{}.sock", driver), fmt::format("{}.sock", DigestBase64Url(driver, 16))}));
}

Status WithAdvice(const Status& status, std::string_view instance) {
  if (status.code() != Code::kAlreadyExists || !instance.empty()) return status;
  return Status(status.code(),
                fmt::format("{}; if that is the same driver: --instance lets two of it run at once",
                            status.message()));
}

}  // namespace galen::sdk
