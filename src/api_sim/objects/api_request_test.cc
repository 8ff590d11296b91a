#include "api_sim/objects/api_request.h"

#include <gtest/gtest.h>

namespace galen::api_sim {
namespace {

ApiRequest Read(std::string path) {
  return ReadApiRequest({.method = "GET", .path = std::move(path), .headers = {}, .body = {}});
}

TEST(ApiRequest, ReadsWhatAPathIsAbout) {
  const ApiRequest pod = Read("/api/v1/namespaces/train/pods/a/status");
  EXPECT_TRUE(pod.is_resource);
  EXPECT_EQ(pod.group, "");
  EXPECT_EQ(pod.version, "v1");
  EXPECT_EQ(pod.ns, "train");
  EXPECT_EQ(pod.plural, "pods");
  EXPECT_EQ(pod.name, "a");
  EXPECT_EQ(pod.subresource, "status");
  const ApiRequest slices = Read("/apis/resource.k8s.io/v1/resourceslices");
  EXPECT_EQ(slices.group, "resource.k8s.io");
  EXPECT_EQ(slices.plural, "resourceslices");
  EXPECT_EQ(slices.name, "");
}

TEST(ApiRequest, DistinguishesANamespaceFromWhatIsInIt) {
  EXPECT_EQ(Read("/api/v1/namespaces").plural, "namespaces");
  EXPECT_EQ(Read("/api/v1/namespaces/a").name, "a");
  EXPECT_EQ(Read("/api/v1/namespaces/a").ns, "");
  EXPECT_EQ(Read("/api/v1/namespaces/a/status").subresource, "status");
  EXPECT_EQ(Read("/api/v1/namespaces/a/pods").plural, "pods");
}

TEST(ApiRequest, DiscoveryIsNoResource) {
  for (const char* path : {"/", "/api", "/api/v1", "/apis", "/apis/g", "/apis/g/v1", "/version",
                           "/healthz", "/api/v1/namespaces/a/pods/b/c/d"}) {
    EXPECT_FALSE(Read(path).is_resource) << path;
  }
}

TEST(ApiRequest, DecodesItsQuery) {
  const ApiRequest request = Read("/api/v1/pods?labelSelector=a%3Db+c&watch=true&flag&x=1%2");
  EXPECT_EQ(request.Param("labelSelector"), "a=b c");
  EXPECT_TRUE(request.Flag("watch"));
  EXPECT_FALSE(request.Flag("flag"));
  EXPECT_EQ(request.Param("x"), "1%2");
  EXPECT_EQ(request.Param("absent"), "");
}

TEST(ApiRequest, NamesItsManager) {
  ApiRequest request;
  request.user_agent = "kubectl/v1.33 (linux)";
  EXPECT_EQ(request.manager(), "kubectl");
  request.query["fieldManager"] = "me";
  EXPECT_EQ(request.manager(), "me");
  EXPECT_EQ(ApiRequest{}.manager(), "unknown");
}

}  // namespace
}  // namespace galen::api_sim
