#include <fmt/format.h>

#include <algorithm>

#include "doctor/probes/api_probe.h"
#include "kube/refusal_watch.h"
#include "kube/request.h"

namespace galen::doctor {
namespace {

const kube::Resource kSelfReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                  "SelfSubjectAccessReview", false};
const kube::Resource kWhoAmI{"authentication.k8s.io", "v1", "selfsubjectreviews",
                             "SelfSubjectReview", false};
const kube::Resource kReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                              "SubjectAccessReview", false};

void Add(std::vector<Right>& rights, const std::vector<std::string>& verbs, const Right& of) {
  for (const std::string& verb : verbs) {
    rights.push_back(of);
    rights.back().verb = verb;
  }
}

std::vector<Right> MakeRights() {
  std::vector<Right> rights;
  Add(rights, {"list", "watch"}, {.resource = "pods"});
  Add(rights, {"patch"}, {.resource = "pods", .subresource = "status"});
  Add(rights, {"get", "create", "patch"}, {.resource = "events"});
  Add(rights, {"get"}, {.resource = "nodes"});
  Add(rights, {"get"}, {.group = "resource.k8s.io", .resource = "resourceclaims"});
  Add(rights, {"list", "watch"}, {.group = "resource.k8s.io", .resource = "resourceslices"});
  Add(rights, {"get", "list", "watch", "create", "patch"},
      {.group = "galen.dev", .resource = "nodedevicehealths"});
  Add(rights, {"patch"},
      {.group = "galen.dev", .resource = "nodedevicehealths", .subresource = "status"});
  Add(rights, {"delete", "get"}, {.resource = "pods", .manager_only = true});
  Add(rights, {"create", "patch"}, {.resource = "nodes", .manager_only = true});
  Add(rights, {"patch"}, {.resource = "nodes", .subresource = "status", .manager_only = true});
  Add(rights, {"create", "patch"},
      {.group = "coordination.k8s.io", .resource = "leases", .manager_only = true});
  return rights;
}

// The parts of `text` between quotes, in their order.
std::vector<std::string> QuotedIn(std::string_view text) {
  std::vector<std::string> quoted;
  while (true) {
    const std::size_t begin = text.find('"');
    const std::size_t end = text.find('"', begin + 1);
    if (begin == std::string_view::npos || end == std::string_view::npos) return quoted;
    quoted.emplace_back(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

}  // namespace

// kube-apiserver's format, after "cannot": `list resource "pods" in API group "" at the cluster
// scope`, `… in the namespace "train"`, or `get path "/metrics"`.
Status ExplainRefusal(Status status) {
  const std::string refused = kube::DeniedByRbac(status.message());
  if (refused.empty()) return status;
  const std::vector<std::string> quoted = QuotedIn(refused);
  const std::string verb = refused.substr(0, refused.find(' '));
  if (quoted.empty()) return {status.code(), fmt::format("{}{}", kMissingRight, refused)};
  const std::string& group = quoted.size() > 1 ? quoted[1] : "";
  std::string text = fmt::format("{}{} {}", kMissingRight, verb, quoted[0]);
  if (!group.empty()) text += fmt::format(" of API group {}", group);
  if (quoted.size() > 2) text += fmt::format(" in namespace {}", quoted[2]);
  const std::vector<Right>& rights = AgentRights();
  const auto granted = std::ranges::find_if(rights, [&](const Right& right) {
    return ToString(right) == verb + " " + quoted[0] && right.group == group;
  });
  if (granted != rights.end()) {
    text += fmt::format(" (deploy/{} grants it)",
                        granted->manager_only ? "examples/manager.yaml" : "galen.yaml");
  }
  return {status.code(), std::move(text)};
}

std::string ToString(const Right& right) {
  return fmt::format("{} {}{}{}", right.verb, right.resource, right.subresource.empty() ? "" : "/",
                     right.subresource);
}

const std::vector<Right>& AgentRights() {
  static const std::vector<Right> kRights = MakeRights();
  return kRights;
}

std::string Subject::user() const {
  return account.empty() ? "" : fmt::format("system:serviceaccount:{}:{}", ns, account);
}

std::string Subject::phrase() const {
  if (account.empty()) return "the user of this kubeconfig";
  return fmt::format("service account {}/{}", ns, account);
}

net::HttpRequest WhoAmIRequest() {
  const Json review =
      Json::MakeObject({{"apiVersion", kWhoAmI.api_version()}, {"kind", kWhoAmI.kind}});
  return kube::Create(kWhoAmI, "", review);
}

std::string ReadUser(const Json& review) {
  return review["status"]["userInfo"]["username"].AsString();
}

net::HttpRequest ReviewRequest(const Right& right, const Subject& subject) {
  Json attributes = Json::MakeObject({{"verb", right.verb}, {"resource", right.resource}});
  if (!right.group.empty()) attributes["group"] = right.group;
  if (!right.subresource.empty()) attributes["subresource"] = right.subresource;
  Json spec = Json::MakeObject({{"resourceAttributes", std::move(attributes)}});
  const bool self = subject.asks_for_itself();
  const kube::Resource& kind = self ? kSelfReviews : kReviews;
  if (!self) {
    // Every service account is in these groups: kubernetes.io/docs/reference/access-authn-authz/
    // service-accounts-admin.
    spec["user"] = subject.user();
    spec["groups"] = Json::MakeArray(
        {"system:serviceaccounts", "system:serviceaccounts:" + subject.ns, "system:authenticated"});
  }
  const Json review = Json::MakeObject(
      {{"apiVersion", kind.api_version()}, {"kind", kind.kind}, {"spec", std::move(spec)}});
  return kube::Create(kind, "", review);
}

}  // namespace galen::doctor
