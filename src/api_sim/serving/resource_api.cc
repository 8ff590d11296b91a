// Tested by tests/contract/object_test.cc and tests/contract/list_test.cc, as all requests are.
#include "api_sim/serving/resource_api.h"

#include <fmt/format.h>

#include <algorithm>

#include "api_sim/objects/object_meta.h"
#include "api_sim/patch/patch.h"
#include "api_sim/serving/body.h"
#include "api_sim/storage/presentation.h"
#include "kube/merge_patch.h"
#include "kube/request.h"

namespace galen::api_sim {
namespace {

// A DELETE need not have a body.
Outcome<Json> ReadOptions(const ApiRequest& request) {
  if (request.body.empty()) return Json();
  return ReadBody(request);
}

// The refusal of a patch that cannot be applied: a failed test of a JSON patch, an unknown type, or
// an invalid patch.
Refusal RefusalOfPatch(const Kind& kind, const std::string& name, const Status& status) {
  switch (status.code()) {
    case Code::kFailedPrecondition:
      return PlainRefusal(422, "Invalid", status.message());
    case Code::kUnimplemented:
      return PlainRefusal(415, "UnsupportedMediaType",
                          "the body of the request was in an unknown format - accepted media types "
                          "include: application/json-patch+json, application/merge-patch+json, "
                          "application/apply-patch+yaml");
    default:
      return BadRequest(
          fmt::format("patch of {} \"{}\": {}", kind.resource.plural, name, status.message()));
  }
}

WriteTarget TargetOf(const ApiRequest& request, const KindRef& kind) {
  return {.kind = kind,
          .key = {request.ns, request.name},
          .subresource = request.subresource,
          .manager = request.manager(),
          .validation = request.Param("fieldValidation"),
          .dry_run = request.dry_run()};
}

Refusal NoSuchResource() {
  return PlainRefusal(404, "NotFound", "the server could not find the requested resource");
}

Refusal MethodNotAllowed() {
  return PlainRefusal(405, "MethodNotAllowed",
                      "the server does not allow this method on the requested resource");
}

bool Serves(const Kind& kind, const std::string& subresource) {
  if (subresource.empty()) return true;
  if (subresource == "status") return kind.has_status;
  const auto& list = kind.subresources;
  return std::find(list.begin(), list.end(), subresource) != list.end();
}

// DELETE's answer when the object is gone: the object for Pods, a Status for other kinds.
Json AnswerOfDelete(const Kind& kind, const ObjectDeleter::Deleted& deleted) {
  if (!deleted.gone || kind.resource == kube::kPods) return deleted.object;
  Json details = Json::MakeObject({{"name", deleted.object["metadata"]["name"]},
                                   {"kind", kind.resource.plural},
                                   {"uid", deleted.object["metadata"]["uid"]}});
  if (!kind.resource.group.empty()) details["group"] = kind.resource.group;
  return Json::MakeObject({{"kind", "Status"},
                           {"apiVersion", "v1"},
                           {"metadata", Json::Object{}},
                           {"status", "Success"},
                           {"details", std::move(details)}});
}

}  // namespace

ResourceApi::ResourceApi(Loop& loop, Random& random, ObjectStore& store, const KindTable& kinds)
    : loop_(loop),
      store_(store),
      reader_(loop, random, store),
      writer_(loop, random, store),
      deleter_(loop, store, kinds),
      pods_(loop, store, writer_, deleter_) {}

std::string ResourceApi::VerbOf(const ApiRequest& request) {
  const bool one = !request.name.empty();
  if (request.method == "GET" || request.method == "HEAD") {
    if (request.Flag("watch")) return "watch";
    return one ? "get" : "list";
  }
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return one ? "delete" : "deletecollection";
  // Other methods such as OPTIONS have no verb in kube-apiserver, which refuses them with 405.
  return "";
}

Outcome<ResourceApi::Answer> ResourceApi::Do(const ApiRequest& request, const KindRef& kind) {
  if (!Serves(*kind, request.subresource)) return NoSuchResource();
  // A namespaced kind is written in a namespace, a cluster-scoped one without.
  if (!kind->resource.namespaced && !request.ns.empty()) return NoSuchResource();
  const std::string verb = VerbOf(request);
  if (kind->resource.namespaced && request.ns.empty() && verb != "list" && verb != "watch") {
    return MethodNotAllowed();
  }
  if (verb == "watch") {
    ASSIGN_OR_RETURN(WatchHub::Spec spec, reader_.ReadWatch(request, kind));
    return Answer(std::move(spec));
  }
  const WriteTarget target = TargetOf(request, kind);
  const auto done = [&]() -> Outcome<Written> {
    if (verb == "get" || verb == "list") return Read(request, *kind);
    if (verb == "create") return Post(request, target);
    if (verb == "update" && !request.name.empty()) return Put(request, target);
    if (verb == "patch" && !request.name.empty()) return Patch(request, target);
    if (verb == "delete" && request.subresource.empty()) return Delete(request, *kind);
    if (verb == "deletecollection") return DeleteCollection(request, *kind);
    return MethodNotAllowed();
  };
  ASSIGN_OR_RETURN(Written written, done());
  return Answer(std::move(written));
}

Outcome<Written> ResourceApi::Read(const ApiRequest& request, const Kind& kind) {
  ASSIGN_OR_RETURN(Json shown,
                   request.name.empty() ? reader_.List(request, kind) : reader_.Get(request, kind));
  return Written{200, std::move(shown), {}};
}

Outcome<Written> ResourceApi::Post(const ApiRequest& request, const WriteTarget& target) {
  ASSIGN_OR_RETURN(Json body, ReadBody(request));
  if (target.subresource == "binding") return pods_.Bind(target, body);
  if (target.subresource == "eviction") return pods_.Evict(target, body);
  if (!target.key.name.empty()) return MethodNotAllowed();
  return writer_.Create(target, std::move(body));
}

Outcome<Written> ResourceApi::Put(const ApiRequest& request, const WriteTarget& target) {
  ASSIGN_OR_RETURN(Json body, ReadBody(request));
  // A body without a name is refused: most often the client sent an empty object.
  if (body["metadata"]["name"].AsString().empty()) {
    return BadRequest("the object has no name in its metadata");
  }
  return writer_.Update(target, std::move(body));
}

Outcome<Written> ResourceApi::Patch(const ApiRequest& request, const WriteTarget& target) {
  const std::string& type = request.content_type;
  ASSIGN_OR_RETURN(Json patch, ReadBody(request));
  if (type == kube::ContentType(kube::PatchType::kApply)) {
    // Only apply must name its field manager; other writes use the user agent.
    if (request.Param("fieldManager").empty()) {
      return InvalidRefusal({"meta.k8s.io", "patchoptions", "PatchOptions", ""},
                            {RequiredFault("fieldManager", "is required for apply patch")});
    }
    return writer_.Apply(target, std::move(patch), request.Flag("force"));
  }
  const kube::Resource& resource = target.kind->resource;
  return writer_.Change(target, [&](const Json& present) -> Outcome<Json> {
    Json object = present;
    // The patch is applied to the newest state, so it conflicts only if it contains a condition
    // itself.
    Status status = Unimplemented("no such patch");
    if (type == kube::ContentType(kube::PatchType::kJson)) {
      status = api_sim::ApplyJsonPatch(object, patch);
    } else if (type == kube::ContentType(kube::PatchType::kMerge)) {
      status = kube::ApplyMergePatch(object, patch);
    } else if (type == kube::ContentType(kube::PatchType::kStrategic)) {
      status = api_sim::ApplyStrategicPatch(resource, object, patch);
    }
    if (!status.ok()) return RefusalOfPatch(*target.kind, target.key.name, status);
    return object;
  });
}

Outcome<Written> ResourceApi::Delete(const ApiRequest& request, const Kind& kind) {
  ASSIGN_OR_RETURN(const Json options, ReadOptions(request));
  ASSIGN_OR_RETURN(
      const DeletionWish wish,
      ReadDeletionWish(options, request.Param("gracePeriodSeconds"), request.dry_run()));
  ASSIGN_OR_RETURN(const ObjectDeleter::Deleted deleted,
                   deleter_.Delete(kind, {request.ns, request.name}, wish));
  return Written{200, AnswerOfDelete(kind, deleted), {}};
}

Outcome<Written> ResourceApi::DeleteCollection(const ApiRequest& request, const Kind& kind) {
  ASSIGN_OR_RETURN(const Json options, ReadOptions(request));
  ASSIGN_OR_RETURN(
      const DeletionWish wish,
      ReadDeletionWish(options, request.Param("gracePeriodSeconds"), request.dry_run()));
  ASSIGN_OR_RETURN(const Selection selection, ReadSelection(request, kind));
  std::vector<Snapshot> deleted;
  for (const Snapshot& object : store_.List(kind.collection(), request.ns)) {
    if (!selection.Matches(*object)) continue;
    auto one = deleter_.Delete(kind, KeyOf(*object), wish);
    // Objects that were deleted so far stay deleted; the client repeats the request.
    if (!one.ok()) return one.status();
    deleted.push_back(std::make_shared<const Json>(one->object));
  }
  Json meta = Json::MakeObject({{"resourceVersion", std::to_string(store_.version())}});
  return Written{200, Presentation{}.Many(kind, deleted, std::move(meta), loop_.WallNow()), {}};
}

}  // namespace galen::api_sim
