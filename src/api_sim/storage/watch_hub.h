// Sends changes to watchers. A watcher is a place in the store's history, not a queue: a slow one
// falls behind without costing memory, and gets a 410 when the history has moved past it. The
// initial objects of a watch are shared snapshots of the store, held until the client reads them.
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
  // What one client watches; made by ObjectReader::ReadWatch().
  struct Spec {
    KindRef kind;
    std::string ns;  // "" = all
    Selection selection;
    std::uint64_t after = 0;  // changes up to this version are known to the client
    Duration timeout{};       // the watch ends by itself after this
    bool bookmarks = false;
    // The present objects come first, as ADDED; then, if wanted, a bookmark that marks their end.
    bool initial_events = false;
    bool initial_bookmark = false;
    // The form of objects: whole, as a table, as metadata.
    std::function<Json(const Json& object)> present;
  };

  // Follows every change of the store from here on. What is borrowed outlives the hub.
  WatchHub(Loop& loop, ObjectStore& store);

  // Answers `exchange` with 200 and a stream of JSON lines, and keeps it until the watch ends. A
  // version that is too old, or of the future, is reported as an ERROR event with 410, not as a
  // status. Any number of watches may be open.
  void Start(Spec spec, std::unique_ptr<net::HttpExchange> exchange);
  // Ends all watches of a collection after sending the rest; for kinds that were removed.
  void EndAll(const std::string& collection);

  std::size_t watchers() const { return watchers_.size(); }

  // How often a watcher that asked for bookmarks gets one: kube-apiserver's interval, a minute.
  static constexpr Duration kBookmarkInterval = std::chrono::seconds(60);
  // How much a watcher may leave unread before nothing more is sent; it resumes once it has read
  // all.
  static constexpr std::size_t kQueuedBytesMax = 256 * 1024;

 private:
  struct Watcher {
    Spec spec;
    std::unique_ptr<net::HttpExchange> exchange;
    std::uint64_t sent = 0;  // version of the newest change sent or skipped
    Timer timeout;
    bool ended = false;
    // Initial objects that it had no room for yet; the next one is last.
    std::vector<Snapshot> initial = {};
    // some initial objects, or the bookmark after them, are still to be sent
    bool beginning = false;
  };

  // Has one pump of all watchers made for all changes of a turn.
  void WakeSoon();
  void PumpAll();
  // Sends a watcher as much of what it lacks as it has room for.
  void Pump(Watcher& watcher);
  // Sends a change as ADDED, MODIFIED or DELETED, according to the watcher's selection.
  void Send(Watcher& watcher, const Change& change);
  // Sends as many initial objects as there is room for; false while some are left.
  bool SendInitial(Watcher& watcher);
  // kProgress: the watcher's present version; kInitialEnd: also the end of its initial objects.
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
