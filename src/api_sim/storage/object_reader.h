// Answers get, list and watch from the store, in pages and at versions as Kubernetes does, in the
// form that the request's Accept asks for. Reads only; values it gives are copies. Belongs to the
// API's loop.
#pragma once

#include "api_sim/objects/api_request.h"
#include "api_sim/objects/kinds.h"
#include "api_sim/storage/object_store.h"
#include "api_sim/storage/watch_hub.h"
#include "base/loop/loop.h"
#include "base/random.h"

namespace galen::api_sim {

class ObjectReader {
 public:
  // What is lent outlives the reader.
  ObjectReader(Loop& loop, Random& random, const ObjectStore& store)
      : loop_(loop), random_(random), store_(store) {}

  // 404: no such object; 406: no form that the client takes.
  Outcome<Json> Get(const ApiRequest& request, const Kind& kind) const;
  // A list, whole or the page that ?limit= and ?continue= ask for, at a version. Pages of one list
  // all show the version of the first. 400 for selectors, numbers or tokens that make no sense, 410
  // when the version is older than the history, 504 when it is of the future.
  Outcome<Json> List(const ApiRequest& request, const Kind& kind) const;
  // What a watch is to show, from the query; the hub does the rest, 410 included. A path with a
  // name watches that one object. 400 as for List.
  Outcome<WatchHub::Spec> ReadWatch(const ApiRequest& request, const KindRef& kind) const;

  // A watch without timeoutSeconds lasts between this and twice as long, so that clients do not all
  // come back at once: kube-apiserver's --min-request-timeout.
  static constexpr Duration kWatchTimeoutLeast = std::chrono::minutes(30);

 private:
  struct Page;
  Outcome<Page> ReadPage(const ApiRequest& request) const;

  Loop& loop_;
  Random& random_;
  const ObjectStore& store_;
};

}  // namespace galen::api_sim
