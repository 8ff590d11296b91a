// Sends changes to watchers. A watcher is a place in the store's history, not a queue: a slow one
// falls behind without costing memory, and gets a 410 when the history has moved past it. Of the
// objects that a watch begins with it holds the store's own snapshots until the client takes them.
// Belongs to the API's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api_sim/objects/selectors.h"
#include "api_sim/storage/object_store.h"
#include "base/loop/loop.h"
#include "net/http.h"

namespace galen::api_sim {

class WatchHub {
 public:
  // What one client wants to see; made by ObjectReader::ReadWatch().
  struct Spec {
    KindRef kind;
    std::string ns;  // "" = all
    Selection selection;
    std::uint64_t after = 0;  // changes up to this version are known to the client
    Duration timeout{};       // the watch ends by itself after this
    bool bookmarks = false;
    // The present objects come first, as ADDED; then, if wanted, a bookmark that says so.
    bool initial_events = false;
    bool initial_bookmark = false;
    // How objects are shown: whole, as a table, as metadata.
    std::function<Json(const Json& object)> present;
  };

  // Follows every change of the store from here on. What is borrowed outlives the hub.
  WatchHub(Loop& loop, ObjectStore& store);

  // Answers `exchange` with 200 and a stream of JSON lines, and keeps it until the watch ends. A
  // version that is too old, or of the future, is reported as an ERROR event with 410, not as a
  // status. Any number of watches may be open.
  void Start(Spec spec, std::unique_ptr<net::HttpExchange> exchange);
  // Ends all watches of a collection after sending what is left; for kinds that are no more.
  void EndAll(const std::string& collection);

  std::size_t watchers() const { return watchers_.size(); }

  // How often a watcher that asked for bookmarks gets one: kube-apiserver's interval, a minute.
  static constexpr Duration kBookmarkInterval = std::chrono::seconds(60);
  // What a watcher may leave unread before it is fed no more; it goes on once it has read all.
  static constexpr std::size_t kQueuedBytesMax = 256 * 1024;

 private:
  struct Watcher {
    Spec spec;
    std::unique_ptr<net::HttpExchange> exchange;
    std::uint64_t sent = 0;  // version of the newest change sent or skipped
    Timer timeout;
    bool ended = false;
    // The objects it begins with that it had no room for yet; the next one is last.
    std::vector<Snapshot> initial = {};
    bool beginning = false;  // some of them, or the bookmark after them, are still to be sent
  };

  // One pump of all watchers for all changes of a turn.
  void WakeSoon();
  void PumpAll();
  // Sends a watcher what it can take of what it has not received.
  void Pump(Watcher& watcher);
  // One change as ADDED, MODIFIED or DELETED, as it looks through the watcher's selection.
  void Send(Watcher& watcher, const Change& change);
  // What it can take of the objects it begins with; false while some are left.
  bool SendInitial(Watcher& watcher);
  // "How far the watcher is", or also "these were the objects that it begins with".
  enum class Bookmark { kProgress, kInitialEnd };
  void SendBookmark(Watcher& watcher, Bookmark kind);
  void End(Watcher& watcher);
  void OnTimeout(std::uint64_t id);
  void OnBookmarkTime();

  Loop& loop_;
  ObjectStore& store_;
  std::map<std::uint64_t, Watcher> watchers_;
  std::uint64_t next_id_ = 1;
  Timer wake_;  // wanted at most once for all changes of one turn of the loop
  bool waking_ = false;
  Timer bookmark_timer_;
};

}  // namespace galen::api_sim
