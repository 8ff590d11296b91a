#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "conformance/check.h"
#include "conformance/examination.h"
#include "conformance/probes.h"

namespace galen::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSocketsMax = 256;  // of a directory; a node has a handful of plugins
constexpr int kDepthMax = 8;              // as deep as the agent looks

std::string Registry(const std::string& kubelet_root) {
  return (kubelet_root.empty() ? std::string(kKubeletRoot) : kubelet_root) + "/plugins_registry";
}

// The sockets below `directory`, as a kubelet finds them: no name with a leading dot, no symlink.
std::vector<std::string> SocketsIn(const std::string& directory) {
  std::vector<std::string> sockets;
  std::error_code error;  // names that disappear meanwhile are skipped
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const bool hidden = it->path().filename().string().starts_with('.');
    const fs::file_status status = it->symlink_status(error);
    if (status.type() == fs::file_type::directory && (hidden || it.depth() >= kDepthMax)) {
      it.disable_recursion_pending();
    }
    if (status.type() == fs::file_type::socket && !hidden && sockets.size() < kSocketsMax) {
      sockets.push_back(it->path().string());
    }
  }
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

std::string RootOf(const std::string& socket, const std::string& kubelet_root) {
  if (!kubelet_root.empty()) return kubelet_root;
  for (fs::path place = fs::path(socket).parent_path(); place.has_relative_path();
       place = place.parent_path()) {
    if (place.filename() == "plugins_registry") return place.parent_path().string();
  }
  return "";
}

RegistrationSeen Look(const Edges& edges, const std::string& socket,
                      const std::string& kubelet_root) {
  std::error_code error;
  return {.socket = socket,
          .is_socket = fs::is_socket(socket, error),
          .info = AskInfo(edges, socket),
          .kubelet_root = RootOf(socket, kubelet_root)};
}

// Sets the twins of sockets that announce the same name and endpoint.
void NameTwins(std::vector<RegistrationSeen>& all) {
  for (RegistrationSeen& one : all) {
    for (const RegistrationSeen& other : all) {
      const bool same = one.info.answer.status.ok() && other.info.answer.status.ok() &&
                        one.info.info.name == other.info.info.name &&
                        EndpointOf(one) == EndpointOf(other);
      if (same && one.socket != other.socket) one.twins.push_back(other.socket);
    }
  }
}

bool Answers(const RegistrationSeen& one) { return one.info.answer.status.ok(); }

std::string NamesOf(const std::vector<RegistrationSeen>& all) {
  std::vector<std::string> names;
  for (const RegistrationSeen& one : all) {
    if (Answers(one)) names.push_back(Shown(one.info.info.name));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

StatusOr<std::vector<RegistrationSeen>> InDirectory(const Edges& edges,
                                                    const std::string& directory,
                                                    const std::string& kubelet_root) {
  std::vector<RegistrationSeen> all;
  for (const std::string& socket : SocketsIn(directory)) {
    RegistrationSeen one = Look(edges, socket, kubelet_root);
    const std::string& type = one.info.info.type;
    if (Answers(one) && (type == "CSIPlugin" || type == "DevicePlugin")) continue;
    all.push_back(std::move(one));
  }
  if (all.empty()) {
    return NotFound("no driver has a socket in {}: is one running with this registry?", directory);
  }
  NameTwins(all);
  return all;
}

}  // namespace

StatusOr<std::vector<RegistrationSeen>> FindTargets(const Edges& edges, const std::string& what,
                                                    const std::string& kubelet_root) {
  std::error_code error;
  // Absolute, as a kubelet names them.
  const std::string path = fs::absolute(what, error).lexically_normal().string();
  if (fs::is_directory(path, error)) return InDirectory(edges, path, kubelet_root);
  if (what.find('/') != std::string::npos) {
    std::vector<RegistrationSeen> one = {Look(edges, path, kubelet_root)};
    const Status& status = one.front().info.answer.status;
    if (status.ok() || (one.front().is_socket && status.code() != Code::kUnavailable)) return one;
    return Unavailable("no driver answers at {}: {}", path, status.message());
  }
  const std::string registry = Registry(kubelet_root);
  ASSIGN_OR_RETURN(std::vector<RegistrationSeen> all, InDirectory(edges, registry, kubelet_root));
  const std::string names = NamesOf(all);
  std::erase_if(all, [&](const RegistrationSeen& one) { return one.info.info.name != what; });
  if (all.empty()) return NotFound("no driver {} in {}; there are: {}", what, registry, names);
  return all;
}

std::string UserOf(const std::string& registry) {
  std::error_code error;
  fs::path place = fs::weakly_canonical(registry, error);
  if (!place.has_filename()) place = place.parent_path();  // for a path with a trailing slash
  if (place == fs::path(kKubeletRoot) / "plugins_registry") return "it is in a kubelet's registry";
  const fs::path root = place.parent_path();
  if (fs::exists(root / "pod-resources/kubelet.sock", error) ||
      fs::exists(root / "device-plugins/kubelet.sock", error)) {
    return "a kubelet's sockets lie beside its registry";
  }
  // Shared, and given back at once. An agent that starts at that very moment ends with an error,
  // and its supervisor restarts it.
  const Fd fd(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return "a galen-agent listens to its registry";
  }
  return "";
}

}  // namespace galen::conformance
