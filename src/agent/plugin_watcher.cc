#include "agent/plugin_watcher.h"

#include <utility>
#include <vector>

namespace galen::agent {
namespace {

std::string_view WhatItIs(DirectoryEntry::Kind kind) {
  switch (kind) {
    case DirectoryEntry::Kind::kSocket:
      return "socket";
    case DirectoryEntry::Kind::kDirectory:
      return "directory";
    case DirectoryEntry::Kind::kSymlink:
      return "symlink";
    case DirectoryEntry::Kind::kOther:
      return "no socket";
  }
  GALEN_UNREACHABLE();
}

bool HasDotName(const std::string& path) { return path.compare(path.rfind('/') + 1, 1, ".") == 0; }

}  // namespace

Status PluginWatcher::Start() {
  // Watched before the first look, so that nothing falls between the two.
  const Status watching = directory_.Watch([this] { Scan(); });
  if (!watching.ok()) {
    log_.Warning("cannot watch the registry, will look at it now and then",
                 {{"error", watching.message()}, {"every", kRescanAfter.count() / 1'000'000'000}});
  }
  Scan();
  return watching;
}

void PluginWatcher::Scan() {
  // Counted from the last look: a registry that is busy is not looked at twice.
  rescan_ = loop_.After(kRescanAfter, [this] { Scan(); });
  const StatusOr<std::vector<DirectoryEntry>> entries = directory_.Scan();
  if (!entries.ok()) {
    // Not knowing is no reason to take drivers for gone.
    if (told_.First("scan")) {
      log_.Warning("cannot read the registry", {{"error", entries.status().message()}});
    }
    return;
  }
  told_.Forget("scan");
  Compare(*entries);
  scanned_ = true;
}

void PluginWatcher::Compare(const std::vector<DirectoryEntry>& entries) {
  std::map<std::string, std::uint64_t> found;
  for (const DirectoryEntry& entry : entries) {
    if (IsWanted(entry)) found.emplace(entry.path, entry.stamp);
  }
  // The new set stands before anyone is told, so a listener may cause another look.
  const std::map<std::string, std::uint64_t> before = std::exchange(sockets_, found);
  for (const auto& [path, stamp] : before) {
    // Removals first, as in the kubelet's reconciler: a driver that moved to another name is not
    // refused for its old one.
    if (!found.contains(path)) listener_.OnSocketRemoved(path);
  }
  for (const auto& [path, stamp] : found) {
    const auto it = before.find(path);
    if (it == before.end()) {
      listener_.OnSocketAdded(path);
    } else if (it->second != stamp) {
      listener_.OnSocketReplaced(path);
    }
  }
}

bool PluginWatcher::IsWanted(const DirectoryEntry& entry) {
  if (entry.kind == DirectoryEntry::Kind::kDirectory) return false;
  const bool hidden = HasDotName(entry.path);
  if (entry.kind == DirectoryEntry::Kind::kSocket && !hidden) return true;
  // Dot files are somebody's temporary ones, and not worth a word.
  if (!hidden && told_.First(entry.path)) {
    log_.Info("left alone in the registry: only sockets are plugins",
              {{"path", entry.path}, {"is", WhatItIs(entry.kind)}});
  }
  return false;
}

}  // namespace galen::agent
