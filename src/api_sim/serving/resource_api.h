// Answers the requests below /api and /apis that are about objects.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "api_sim/objects/api_request.h"
#include "api_sim/storage/object_access.h"
#include "base/loop/loop.h"

namespace galen::api_sim {

// Actions on a Pod besides writing it: binding it to a node and evicting it. Answers carry a Status
// "Success", as upstream's, not the Pod. Belongs to the API's loop.
class PodActions {
 public:
  // The arguments outlive this.
  PodActions(Loop& loop, ObjectStore& store, ObjectWriter& writer, ObjectDeleter& deleter)
      : loop_(loop), store_(store), writer_(writer), deleter_(deleter) {}

  // `binding` is a v1 Binding: its target names the node, which is not checked to exist. Sets the
  // node and the condition PodScheduled in one write. 404 without the Pod, 409 when it has a node
  // or is being deleted, 422 without a target. Once bound, a Pod stays so.
  Outcome<Written> Bind(const WriteTarget& target, const Json& binding);
  // `eviction` is a policy/v1 Eviction. Marks the Pod with the condition DisruptionTarget, then
  // deletes it as its deleteOptions say. 429 while a PodDisruptionBudget that selects it allows no
  // disruption (status.disruptionsAllowed, which nothing here counts down), unless the Pod is
  // pending, finished or being deleted; 404 without the Pod; 409 when a precondition does not hold.
  Outcome<Written> Evict(const WriteTarget& target, const Json& eviction);

 private:
  // The refusal of the first budget that forbids it.
  std::optional<Refusal> CheckBudgets(const ObjectKey& key, const Json& pod) const;

  Loop& loop_;
  ObjectStore& store_;
  ObjectWriter& writer_;
  ObjectDeleter& deleter_;
};

// Everything below /api and /apis that is about objects: turns a request into reads and writes, by
// its verb, subresource and the type of its body. Rights are checked before. Belongs to the API's
// loop.
class ResourceApi {
 public:
  // The arguments outlive this.
  ResourceApi(Loop& loop, Random& random, ObjectStore& store, const KindTable& kinds);

  // An immediate answer, or a watch to begin on the request's exchange.
  using Answer = std::variant<Written, WatchHub::Spec>;
  // `kind` is the one that the request's path names. 404 for a subresource or scope that the kind
  // does not have, 405 for a verb that is not allowed there, and the refusals of reader, writer and
  // deleter.
  Outcome<Answer> Do(const ApiRequest& request, const KindRef& kind);

  // The verb of authorization: "get", "list", "watch", "create", "update", "patch", "delete" or
  // "deletecollection". Any other method than GET, HEAD, POST, PUT and PATCH counts as DELETE.
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
