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
  // In the registry: whoever finds it asks there who the driver is.
  std::string registration;
  // In the driver's own directory: prepares and health. Announced by the registration.
  std::string data;

  bool operator==(const SocketPaths&) const = default;
};

// With an `instance`, names are unique to it, so that two instances can run at once; a registration
// name that would be too long is shortened with a hash as Kubernetes' own helper (kubeletplugin)
// does it. The same arguments always give the same paths. InvalidArgument when even the shortest
// path is too long.
StatusOr<SocketPaths> MakeSocketPaths(std::string_view kubelet_root, std::string_view driver,
                                      std::string_view instance);

// What came of taking a place for a socket, and what to do where it is taken: by an instance of the
// same driver most likely, and without `instance` all of one driver have the same place.
Status WithAdvice(const Status& status, std::string_view instance);

// The socket of the driver's device plugin, in the kubelet's directory for such: one a driver,
// whatever its instances, for one process at a time serves it. InvalidArgument as above.
StatusOr<std::string> MakePluginSocketPath(std::string_view kubelet_root, std::string_view driver);
// Where the kubelet registers device plugins, and the directory around it.
std::string PluginDirectory(std::string_view kubelet_root);
std::string KubeletSocket(std::string_view kubelet_root);

}  // namespace galen::sdk
