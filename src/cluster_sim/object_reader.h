// Answers get, list and watch from the store, in pages and at versions as Kubernetes does.
// Belongs to the API's loop.
#pragma once

#include "base/loop.h"
#include "base/random.h"
#include "cluster_sim/api_request.h"
#include "cluster_sim/kinds.h"
#include "cluster_sim/object_store.h"
#include "cluster_sim/watch_hub.h"

namespace galen::cluster_sim {

class ObjectReader {
 public:
  // What is lent outlives the reader.
  ObjectReader(Loop& loop, Random& random, const ObjectStore& store)
      : loop_(loop), random_(random), store_(store) {}

  Outcome<Json> Get(const ApiRequest& request, const Kind& kind) const;
  Outcome<Json> List(const ApiRequest& request, const Kind& kind) const;
  // What a watch is to show; the hub does the rest.
  Outcome<WatchHub::Spec> ReadWatch(const ApiRequest& request, const KindRef& kind) const;

  // A watch without timeoutSeconds lasts between this and twice as long.
  static constexpr Duration kWatchTimeoutLeast = std::chrono::minutes(30);

 private:
  struct Page;
  Outcome<Page> ReadPage(const ApiRequest& request) const;

  Loop& loop_;
  Random& random_;
  const ObjectStore& store_;
};

}  // namespace galen::cluster_sim
