#include "agent/drivers/plugin_watcher.h"

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
    case DirectoryEntry::Kind::kUnreadable:
      return "unreadable";
    case DirectoryEntry::Kind::kForeign:
      return "socket of another user than root or the agent's";
  }
  GALEN_UNREACHABLE();
}

std::string_view NameOf(PluginWatcher::Place place) {
  return place == PluginWatcher::Place::kRegistry ? "registry" : "health sources";
}

bool HasDotName(const std::string& path) { return path.compare(path.rfind('/') + 1, 1, ".") == 0; }

}  // namespace

void PluginWatcher::Start() {
  // Watched before the first look, so that nothing falls between the two.
  const Status watching = directory_.Watch([this] { Scan(); });
  if (!watching.ok()) {
    log_.Warning("cannot watch the directory of sockets, will look at it now and then",
                 {{"which", NameOf(place_)},
                  {"error", watching.message()},
                  {"every", kRescanAfter.count() / 1'000'000'000}});
  }
  Scan();
}

void PluginWatcher::Scan() {
  const StatusOr<std::vector<DirectoryEntry>> entries = directory_.Scan();
  const bool missing = entries.status().code() == Code::kNotFound;
  std::string trouble = entries.ok() ? "" : entries.status().message();
  if (missing) trouble += ": is the kubelet's root right?";
  if (missing && place_ == Place::kHealthSources) trouble.clear();
  if (entries.ok() || missing) {
    Compare(entries.ok() ? *entries : std::vector<DirectoryEntry>{});
    scanned_ = true;
    for (const DirectoryEntry& entry : entries.ok() ? *entries : std::vector<DirectoryEntry>{}) {
      if (entry.kind == DirectoryEntry::Kind::kUnreadable) trouble = entry.path + " is unreadable";
    }
  }
  // Any other error: a directory that cannot be read does not mean that its drivers are gone.
  Note(trouble);
  rescan_ = loop_.After(trouble_.empty() ? kRescanAfter : kRescanInTrouble, [this] { Scan(); });
}

void PluginWatcher::Note(const std::string& trouble) {
  if (std::exchange(trouble_, trouble) == trouble) return;
  if (trouble.empty()) {
    log_.Info("directory of sockets can be read again", {{"which", NameOf(place_)}});
  } else {
    log_.Warning("cannot read the directory of sockets",
                 {{"which", NameOf(place_)}, {"error", trouble}});
  }
}

void PluginWatcher::Compare(const std::vector<DirectoryEntry>& entries) {
  std::map<std::string, std::uint64_t> found;
  for (const DirectoryEntry& entry : entries) {
    if (IsWanted(entry)) found.emplace(entry.path, entry.stamp);
    if (entry.kind != DirectoryEntry::Kind::kUnreadable) continue;
    for (const auto& [path, stamp] : sockets_) {
      if (path == entry.path || path.starts_with(entry.path + "/")) found.emplace(path, stamp);
    }
  }
  // The new set is stored before any listener is notified, so that a listener may cause another
  // look.
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
  using Kind = DirectoryEntry::Kind;
  if (entry.kind == Kind::kDirectory || entry.kind == Kind::kUnreadable) return false;
  const bool hidden = HasDotName(entry.path);
  if (entry.kind == DirectoryEntry::Kind::kSocket && !hidden) return true;
  // Hidden files are temporary ones of other programs, and not worth a line in the log.
  if (!hidden && logged_.First(entry.path)) {
    log_.Info("ignored in the directory of sockets: it is no socket that may be dialled",
              {{"which", NameOf(place_)}, {"path", entry.path}, {"is", WhatItIs(entry.kind)}});
  }
  return false;
}

}  // namespace galen::agent
