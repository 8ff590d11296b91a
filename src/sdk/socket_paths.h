// Where a driver's two sockets are, by the kubelet's conventions, so that every path fits into a
// socket address (108 bytes with its end on Linux, unix(7)). Pure: makes nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::sdk {

struct SocketPaths {
  std::string registry;          // <root>/plugins_registry: watched by the kubelet
  std::string plugin_directory;  // <root>/plugins/<driver>: the driver's own
  // In the registry directory: the kubelet asks there which driver this is.
  std::string registration;
  // In the driver's own directory: prepares and health. Announced by the registration.
  std::string data;

  bool operator==(const SocketPaths&) const = default;
};

// With an `instance`, the names contain it, so that two instances can run at once; a registration
// name that would be too long is shortened with a hash as Kubernetes' own helper (kubeletplugin)
// does it. The same arguments always give the same paths. InvalidArgument when even the shortest
// path is too long.
StatusOr<SocketPaths> MakeSocketPaths(std::string_view kubelet_root, std::string_view driver,
                                      std::string_view instance);

// Adds advice to the error of a socket that another process holds: most likely another instance of
// the same driver, since without `instance` all use the same paths.
Status WithAdvice(const Status& status, std::string_view instance);

// The socket of the driver's device plugin, in the kubelet's directory for device plugins: all
// instances share it, since only one process serves it at a time. InvalidArgument as above.
StatusOr<std::string> MakePluginSocketPath(std::string_view kubelet_root, std::string_view driver);
// The kubelet's directory for device plugins, which holds its own registration socket too.
std::string PluginDirectory(std::string_view kubelet_root);
std::string KubeletSocket(std::string_view kubelet_root);

}  // namespace galen::sdk
