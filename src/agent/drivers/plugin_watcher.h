// Keeps the desired set of registration sockets: looks at the directory at each hint and, should a
// hint ever get lost, now and then. Plain files, symlinks and dot names are left alone and logged
// once. A socket is not taken for gone because it could not be looked at. Belongs to the agent's
// loop.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "agent/drivers/socket_directory.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/repeated_log.h"

namespace galen::agent {

// Called for registration sockets that come and go. Called from the watcher's look, removals first;
// must not destroy the watcher.
class SocketListener {
 public:
  virtual ~SocketListener() = default;
  virtual void OnSocketAdded(const std::string& path) = 0;
  // Removed and made again between two looks: its plugin must be asked again which driver it is.
  virtual void OnSocketReplaced(const std::string& path) = 0;
  virtual void OnSocketRemoved(const std::string& path) = 0;
};

class PluginWatcher {
 public:
  // Long: the watch notices changes at once; rescans only make up for a watch that failed.
  static constexpr Duration kRescanAfter = std::chrono::minutes(5);
  // While something is wrong: a right that is granted or a disk that is mounted causes no
  // notification.
  static constexpr Duration kRescanInTrouble = std::chrono::seconds(10);

  // Which directory it is: the kubelet's registry, which exists where a kubelet runs, or the
  // optional one of health sources.
  enum class Place { kRegistry, kHealthSources };

  PluginWatcher(Loop& loop, Log& log, SocketDirectory& directory, SocketListener& listener,
                Place place = Place::kRegistry)
      : loop_(loop), log_(log), directory_(directory), listener_(listener), place_(place) {}

  // Watches, and looks once before it returns: plugins that registered before the agent are known
  // then. Where the directory cannot be watched, that is logged, and only rescans notice changes.
  // Once.
  void Start();
  // Whether a look has ever succeeded, for readiness.
  bool scanned() const { return scanned_; }
  // What is wrong, as a sentence; "" when nothing is.
  const std::string& trouble() const { return trouble_; }

 private:
  void Scan();
  void Compare(const std::vector<DirectoryEntry>& entries);
  void Note(const std::string& trouble);
  bool IsWanted(const DirectoryEntry& entry);

  Loop& loop_;
  Log& log_;
  SocketDirectory& directory_;
  SocketListener& listener_;
  const Place place_;
  std::map<std::string, std::uint64_t> sockets_;  // path → stamp
  LogOnce logged_;
  std::string trouble_;
  Timer rescan_;
  bool scanned_ = false;
};

}  // namespace galen::agent
