// Tells watchers what changed. A watcher is a place in the store's history, not a queue: a slow
// one falls behind without costing memory, and is told 410 when the history has moved past it.
// Belongs to the API's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "cluster_sim/object_store.h"
#include "cluster_sim/selectors.h"
#include "net/http.h"

namespace galen::cluster_sim {

class WatchHub {
 public:
  // What one client wants to see.
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

  // What is lent outlives the hub.
  WatchHub(Loop& loop, ObjectStore& store);

  void Start(Spec spec, std::unique_ptr<net::HttpExchange> exchange);
  // Ends all watches of a collection; for kinds that are no more.
  void EndAll(const std::string& collection);

  std::size_t watchers() const { return watchers_.size(); }

  // How often a quiet watcher that asked for bookmarks gets one.
  static constexpr Duration kBookmarkInterval = std::chrono::seconds(60);
  // What a watcher may leave unread before it is fed no more.
  static constexpr std::size_t kQueuedBytesMax = 256 * 1024;

 private:
  struct Watcher {
    Spec spec;
    std::unique_ptr<net::HttpExchange> exchange;
    std::uint64_t told = 0;  // version of the newest change it was told of, or passed over
    Timer timeout;
    bool ended = false;
  };

  void WakeSoon();
  void PumpAll();
  void Pump(Watcher& watcher);
  void Tell(Watcher& watcher, const Change& change);
  void SendInitial(Watcher& watcher);
  void SendBookmark(Watcher& watcher, bool initial_end);
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

}  // namespace galen::cluster_sim
