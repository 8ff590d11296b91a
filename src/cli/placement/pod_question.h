// What is asked of the allocator for a Pod, a claim, or manifests that nobody applied yet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "alloc/explanation/picture.h"
#include "base/data/json.h"
#include "base/status.h"
#include "kube/resource.h"

namespace galen::cli {

// A question, and what people call what it is about.
struct PodQuestion {
  std::string subject;  // "Pod train/trainer-7", "claim train/gpu"
  alloc::Question question;
  std::string placed_on;           // the node that the Pod has already; "": none
  std::vector<std::string> notes;  // what is not looked at, a sentence each
};

// An object of the kind and name in the namespace; NotFound when it is not there.
using Lookup = std::function<StatusOr<Json>(const kube::Resource& kind, const ObjectKey& key)>;

// `pod` is a v1 Pod. Its claims that have devices bind it to their nodes. NotFound names a claim or
// a template that does not exist.
StatusOr<PodQuestion> QuestionOfPod(const Json& pod, const Lookup& lookup);
// `claim` is a ResourceClaim. A Pod that asked for nothing else would use it.
StatusOr<PodQuestion> QuestionOfClaim(const Json& claim);

// The objects of a manifest, those of Lists among them. InvalidArgument for a document that is
// none, or whose metadata or spec is none.
StatusOr<std::vector<Json>> ManifestObjects(const std::vector<Json>& documents);
// What a manifest asks for: its first Pod (or the template of its first Deployment, Job,
// CronJob, StatefulSet, DaemonSet, ReplicaSet), else its first claim or claim template. Claims and
// templates of the manifest come before those of the cluster; its DeviceClasses are added to
// `picture`. InvalidArgument: there is none of these. `ns`: where the documents name no namespace.
StatusOr<PodQuestion> QuestionOfManifest(const std::vector<Json>& documents, const std::string& ns,
                                         const Lookup& lookup, alloc::Picture& picture);

}  // namespace galen::cli
