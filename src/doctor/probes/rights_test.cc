#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "base/data/yaml.h"
#include "doctor/probes/api_probe.h"

namespace galen::doctor {
namespace {

using ::testing::HasSubstr;

std::string ReadSource(const std::string& path) {
  std::ifstream file(GALEN_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Add(const Json& rule, std::set<std::string>& rights) {
  for (const Json& resource : rule["resources"].items()) {
    for (const Json& verb : rule["verbs"].items()) {
      rights.insert(verb.AsString() + " " + rule["apiGroups"][0].AsString() + " " +
                    resource.AsString());
    }
  }
}

// What AgentRights says for a role.
std::set<std::string> RightsOf(bool manager) {
  std::set<std::string> rights;
  for (const Right& right : AgentRights()) {
    if (right.manager_only && !manager) continue;
    rights.insert(right.verb + " " + right.group + " " + right.resource +
                  (right.subresource.empty() ? "" : "/" + right.subresource));
  }
  return rights;
}

// What the ClusterRole of a manifest gives.
std::set<std::string> RightsIn(const std::string& manifest) {
  const StatusOr<std::vector<Json>> objects = ParseYamlStream(ReadSource(manifest));
  EXPECT_TRUE(objects.ok()) << objects.status().message();
  std::set<std::string> rights;
  if (!objects.ok()) return rights;
  for (const Json& object : *objects) {
    if (object["kind"].AsString() != "ClusterRole") continue;
    for (const Json& rule : object["rules"].items()) Add(rule, rights);
  }
  return rights;
}

TEST(Rights, OfAnObserverAreThoseOfItsManifest) {
  EXPECT_EQ(RightsOf(false), RightsIn("deploy/galen.yaml"));
}

TEST(Rights, OfAManagerAreThoseOfItsManifest) {
  EXPECT_EQ(RightsOf(true), RightsIn("deploy/examples/manager.yaml"));
}

TEST(Rights, AreAskedForAServiceAccountByItsNameAndGroups) {
  const net::HttpRequest request =
      ReviewRequest({.verb = "patch", .resource = "pods", .subresource = "status"},
                    {.ns = "galen-system", .account = "galen-agent"});
  EXPECT_EQ(request.method, "POST");
  EXPECT_THAT(request.path, HasSubstr("/subjectaccessreviews"));
  const Json spec = (*Json::Parse(request.body))["spec"];
  EXPECT_EQ(spec["user"].AsString(), "system:serviceaccount:galen-system:galen-agent");
  EXPECT_EQ(spec["groups"].items().size(), 3u);
  EXPECT_EQ(spec["resourceAttributes"]["verb"].AsString(), "patch");
  EXPECT_EQ(spec["resourceAttributes"]["subresource"].AsString(), "status");
}

TEST(Rights, AreAskedForOneselfWithoutAName) {
  const net::HttpRequest request =
      ReviewRequest({.verb = "get", .group = "resource.k8s.io", .resource = "resourceclaims"}, {});
  EXPECT_THAT(request.path, HasSubstr("/selfsubjectaccessreviews"));
  const Json spec = (*Json::Parse(request.body))["spec"];
  EXPECT_FALSE(spec.Has("user"));
  EXPECT_EQ(spec["resourceAttributes"]["group"].AsString(), "resource.k8s.io");
}

TEST(Rights, OfAnAgentThatAsksForItselfAreAskedForWithoutAName) {
  const net::HttpRequest request = ReviewRequest({.verb = "list", .resource = "pods"},
                                                 {.ns = "a", .account = "b", .self = true});
  EXPECT_THAT(request.path, HasSubstr("/selfsubjectaccessreviews"));
  EXPECT_THAT(WhoAmIRequest().path, HasSubstr("/selfsubjectreviews"));
  EXPECT_EQ(ReadUser(*Json::Parse(
                R"({"status": {"userInfo": {"username": "system:serviceaccount:a:b"}}})")),
            (Subject{.ns = "a", .account = "b"}).user());
}

TEST(Rights, AreShownAsPeopleSayThem) {
  EXPECT_EQ(ToString({.verb = "list", .resource = "pods"}), "list pods");
  EXPECT_EQ(ToString({.verb = "patch", .resource = "pods", .subresource = "status"}),
            "patch pods/status");
  EXPECT_EQ((Subject{"a", "b"}).phrase(), "service account a/b");
}

// The texts are in kube-apiserver's format.
TEST(Rights, ThatAreRefusedAreNamedInsteadOfTheRawText) {
  const auto refused = [](std::string_view what) {
    return ExplainRefusal(
               PermissionDenied("x is forbidden: User "
                                "\"system:serviceaccount:galen-system:galen-agent\" cannot {}",
                                what))
        .message();
  };
  EXPECT_EQ(refused("list resource \"resourceclaims\" in API group \"resource.k8s.io\" at the "
                    "cluster scope"),
            "missing right: list resourceclaims of API group resource.k8s.io");
  EXPECT_EQ(refused("get resource \"leases\" in API group \"coordination.k8s.io\" in the namespace "
                    "\"kube-node-lease\""),
            "missing right: get leases of API group coordination.k8s.io in namespace "
            "kube-node-lease");
  EXPECT_EQ(refused("get resource \"nodes/proxy\" in API group \"\" at the cluster scope"),
            "missing right: get nodes/proxy");
  EXPECT_EQ(refused("get path \"/metrics\""), "missing right: get /metrics");
  EXPECT_EQ(refused("patch resource \"pods/status\" in API group \"\" in the namespace \"train\""),
            "missing right: patch pods/status in namespace train (deploy/galen.yaml grants it)");
  EXPECT_EQ(refused("fly"), "missing right: fly");
  EXPECT_EQ(ExplainRefusal(PermissionDenied("pods is forbidden")).message(), "pods is forbidden");
}

}  // namespace
}  // namespace galen::doctor
