#include "kube/request.h"

#include <gtest/gtest.h>

#include "kube/test_json.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

// The request as one would type it: method, path, and what matters of headers and body.
std::string Text(const net::HttpRequest& request) {
  std::string text = request.method + " " + request.path;
  for (const net::Header& header : request.headers) {
    if (header.name != "accept") text += "\n" + header.name + ": " + header.value;
  }
  return request.body.empty() ? text : text + "\n" + request.body;
}

TEST(Request, CoreKindsLiveUnderApiAndOthersUnderApis) {
  EXPECT_EQ(Text(Get(kPods, "train", "trainer-0")), "GET /api/v1/namespaces/train/pods/trainer-0");
  EXPECT_EQ(Text(Get(kNodes, "", "node-7")), "GET /api/v1/nodes/node-7");
  EXPECT_EQ(Text(Get(kNamespaces, "", "train")), "GET /api/v1/namespaces/train");
  EXPECT_EQ(Text(Get(kResourceClaims, "a", "c")),
            "GET /apis/resource.k8s.io/v1/namespaces/a/resourceclaims/c");
  EXPECT_EQ(Text(Get(kNodeDeviceHealths, "ignored", "n")),
            "GET /apis/galen.dev/v1alpha1/nodedevicehealths/n");
}

TEST(Request, AsksForJson) {
  EXPECT_EQ(net::FindHeader(Get(kPods, "a", "p").headers, "accept"), "application/json");
}

TEST(Request, NamesCannotLeaveTheirPlaceInThePath) {
  EXPECT_EQ(Text(Get(kPods, "a/b", "../x?y#z")),
            "GET /api/v1/namespaces/a%2Fb/pods/..%2Fx%3Fy%23z");
}

TEST(Request, ListsAPageOfWhatTheSelectorsName) {
  EXPECT_EQ(Text(List(kPods, "", {})), "GET /api/v1/pods?limit=500");
  EXPECT_EQ(Text(List(kPods, "a", {.limit = 0})), "GET /api/v1/namespaces/a/pods");
  EXPECT_EQ(
      Text(List(kPods, "",
                {.selectors = {.field = "spec.nodeName=node-7", .label = "app=train,tier in (a,b)"},
                 .limit = 2,
                 .resource_version = "0"})),
      "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode-7"
      "&labelSelector=app%3Dtrain%2Ctier%20in%20%28a%2Cb%29&limit=2&resourceVersion=0");
}

TEST(Request, ThePageAfterCarriesTheTokenAndNoVersion) {
  EXPECT_EQ(Text(List(kPods, "", {.limit = 2, .resume = "ey+J/=", .resource_version = "7"})),
            "GET /api/v1/pods?limit=2&continue=ey%2BJ%2F%3D");
}

TEST(Request, WatchesFromAVersionWithBookmarksUntilATimeout) {
  EXPECT_EQ(Text(Watch(kPods, "a", {.resource_version = "42", .timeout = 5min})),
            "GET /api/v1/namespaces/a/pods?watch=true&resourceVersion=42"
            "&allowWatchBookmarks=true&timeoutSeconds=300");
  EXPECT_EQ(Text(Watch(kNodes, "",
                       {.selectors = {.field = "metadata.name=n"},
                        .resource_version = "1",
                        .timeout = 0s,
                        .bookmarks = false})),
            "GET /api/v1/nodes?watch=true&fieldSelector=metadata.name%3Dn&resourceVersion=1");
}

TEST(Request, CreatesInItsNamespace) {
  EXPECT_EQ(Text(Create(kPods, "a", JsonOf(R"({"kind":"Pod"})"))),
            "POST /api/v1/namespaces/a/pods\ncontent-type: application/json\n{\"kind\":\"Pod\"}");
}

TEST(Request, UpdatesTheObjectThatItsMetadataNames) {
  const Json pod = JsonOf(R"({"metadata":{"name":"p","namespace":"a","resourceVersion":"9"}})");
  EXPECT_EQ(Text(Update(kPods, pod)),
            "PUT /api/v1/namespaces/a/pods/p\ncontent-type: application/json\n" + pod.Dump());
  EXPECT_EQ(Update(kPods, pod, "status").path, "/api/v1/namespaces/a/pods/p/status");
}

TEST(Request, PatchesSayTheirKindByContentType) {
  const Json patch = JsonOf("{}");
  EXPECT_EQ(Text(Patch(kPods, "a", "p", PatchType::kStrategic, patch, {.subresource = "status"})),
            "PATCH /api/v1/namespaces/a/pods/p/status\n"
            "content-type: application/strategic-merge-patch+json\n{}");
  EXPECT_EQ(Text(Patch(kPods, "a", "p", PatchType::kMerge, patch)),
            "PATCH /api/v1/namespaces/a/pods/p\ncontent-type: application/merge-patch+json\n{}");
  EXPECT_EQ(Text(Patch(kPods, "a", "p", PatchType::kJson, JsonOf("[]"))),
            "PATCH /api/v1/namespaces/a/pods/p\ncontent-type: application/json-patch+json\n[]");
}

TEST(Request, ApplyNamesItsManagerAndTakesFieldsOverOnlyWhenForced) {
  EXPECT_EQ(
      Text(Patch(kNodeDeviceHealths, "", "n", PatchType::kApply, JsonOf("{}"),
                 {.field_manager = "galen-agent", .force = true})),
      "PATCH /apis/galen.dev/v1alpha1/nodedevicehealths/n?fieldManager=galen-agent&force=true\n"
      "content-type: application/apply-patch+yaml\n{}");
  EXPECT_EQ(Patch(kPods, "a", "p", PatchType::kApply, JsonOf("{}"), {.field_manager = "x y"}).path,
            "/api/v1/namespaces/a/pods/p?fieldManager=x%20y");
  EXPECT_EQ(Patch(kPods, "a", "p", PatchType::kMerge, JsonOf("{}"), {.force = true}).path,
            "/api/v1/namespaces/a/pods/p")
      << "servers refuse force on other patches";
}

TEST(Request, DeletesWithGraceAndPreconditions) {
  EXPECT_EQ(Text(Delete(kPods, "a", "p")), "DELETE /api/v1/namespaces/a/pods/p");
  EXPECT_EQ(Delete(kPods, "a", "p", {.grace_seconds = 0}).body,
            R"({"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions"})");
  EXPECT_EQ(
      Delete(kPods, "a", "p", {.grace_seconds = std::nullopt, .uid = "u1", .resource_version = "5"})
          .body,
      R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":)"
      R"({"resourceVersion":"5","uid":"u1"}})");
}

TEST(Request, DeletesACollectionBySelector) {
  EXPECT_EQ(Text(DeleteCollection(kPods, "a", {.label = "x=y"})),
            "DELETE /api/v1/namespaces/a/pods?labelSelector=x%3Dy");
}

}  // namespace
}  // namespace galen::kube
