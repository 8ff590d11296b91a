// Follows one kind: lists it page by page, then watches it, for ever: 410 lists again, a broken
// watch is taken up where it ended, a silent one is given up a little after the server should have
// ended it, errors wait with backoff. A state machine over an HttpClient; belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/data/json.h"
#include "base/loop/backoff.h"
#include "base/loop/loop.h"
#include "kube/client.h"
#include "kube/request.h"

namespace galen::kube {

// Receives what happens to a kind. A list comes as Init, InitItem …, InitDone: only at InitDone is
// the new whole known, and what was not in it is gone.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  virtual void OnInit() = 0;
  virtual void OnInitItem(const Json& object) = 0;
  virtual void OnInitDone() = 0;
  virtual void OnApplied(const Json& object) = 0;
  virtual void OnDeleted(const Json& object) = 0;
  // The watcher tries again by itself; for logs, metrics and readiness.
  virtual void OnTrouble(const Status& status) = 0;
  // A watch stands: trouble that was reported before has ended.
  virtual void OnWell() {}
};

class Watcher {
 public:
  // What is watched, and how long errors wait.
  struct Options {
    Resource resource = {};
    std::string ns = {};  // "" = all
    Selectors selectors = {};
    int page = 500;
    BackoffPolicy backoff{.first = std::chrono::milliseconds(250),
                          .most = std::chrono::seconds(30)};
    // After a refusal that only a person can end: a right or a kind is missing.
    BackoffPolicy refused = backoff;
  };

  // The server is asked to end each watch after kWatchTimeout; one that lives kWatchGrace longer is
  // dead, however quiet its connection. A list that stalls for kListStallMax is given up.
  static constexpr Duration kWatchTimeout = std::chrono::seconds(290);
  static constexpr Duration kWatchGrace = std::chrono::seconds(30);
  static constexpr Duration kListStallMax = std::chrono::seconds(60);
  // After so many refused watches in a row, without one event between them, it lists afresh: what
  // we know may be of an earlier life of the server.
  static constexpr int kRefusedWatchesMax = 3;

  // The sink must not destroy the watcher from one of its calls.
  Watcher(Loop& loop, Client& client, Random& random, Options options, WatchSink& sink);
  ~Watcher();

  // Call it once.
  void Start();
  // When an event or object of this kind was last received, or a request for them succeeded;
  // nullopt: never. What happened later may be unknown here: a dead connection is noticed late.
  std::optional<Time> last_contact() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::kube
