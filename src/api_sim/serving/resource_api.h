// Everything below /api and /apis that is about objects: turns a request into reads and writes, by
// its verb, subresource and the type of its body. Rights are checked before. Belongs to the API's
// loop.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "api_sim/objects/api_request.h"
#include "api_sim/serving/pod_actions.h"
#include "api_sim/storage/object_deleter.h"
#include "api_sim/storage/object_reader.h"
#include "api_sim/storage/object_writer.h"

namespace galen::api_sim {

class ResourceApi {
 public:
  // What is lent outlives this.
  ResourceApi(Loop& loop, Random& random, ObjectStore& store, const KindTable& kinds);

  // An answer at once, or a watch to begin on the request's exchange.
  using Answer = std::variant<Written, WatchHub::Spec>;
  // `kind` is the one that the request's path names. 404 for a subresource or scope that the kind
  // does not have, 405 for a verb that makes no sense there, and what reader, writer and deleter
  // say.
  Outcome<Answer> Do(const ApiRequest& request, const KindRef& kind);

  // The verb of authorization: "get", "list", "watch", "create", "update", "patch", "delete" or
  // "deletecollection". Whatever is none of GET, HEAD, POST, PUT and PATCH counts as DELETE.
  static std::string VerbOf(const ApiRequest& request);

 private:
  Outcome<Written> Read(const ApiRequest& request, const Kind& kind);
  Outcome<Written> Post(const ApiRequest& request, const WriteTarget& target);
  Outcome<Written> Put(const ApiRequest& request, const WriteTarget& target);
  Outcome<Written> Patch(const ApiRequest& request, const WriteTarget& target);
  Outcome<Written> Delete(const ApiRequest& request, const Kind& kind);
  Outcome<Written> DeleteCollection(const ApiRequest& request, const Kind& kind);

  Loop& loop_;
  ObjectStore& store_;
  ObjectReader reader_;
  ObjectWriter writer_;
  ObjectDeleter deleter_;
  PodActions pods_;
};

}  // namespace galen::api_sim
