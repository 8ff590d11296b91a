#include "bench/manifest.h"

#include <gtest/gtest.h>

namespace galen::bench {
namespace {

TEST(Manifest, PutsOnlyNamespacedKindsIntoTheNamespace) {
  for (const Manifest& manifest : ClassOf("gpu.example.com")) {
    EXPECT_EQ(manifest.object["metadata"].Has("namespace"), manifest.resource.namespaced)
        << manifest.object.Dump();
    EXPECT_EQ(manifest.object["kind"].AsString(), manifest.resource.kind);
  }
}

TEST(Manifest, GivesEachPodAClaimOfItsOwnForOneDeviceOfTheDriver) {
  const std::vector<Manifest> pods = PodsOf("gpu.example.com", 3);
  ASSERT_EQ(pods.size(), 3u);
  const Json& pod = pods[2].object;
  EXPECT_EQ(pod["metadata"]["name"].AsString(), PodName(2));
  const Json& claim = pod["spec"]["resourceClaims"][0];
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["claims"][0]["name"], claim["name"]);

  const std::vector<Manifest> all = ClassOf("gpu.example.com");
  EXPECT_EQ(all[2].object["metadata"]["name"], claim["resourceClaimTemplateName"]);
  EXPECT_EQ(all[1].object["spec"]["selectors"][0]["cel"]["expression"].AsString(),
            "device.driver == \"gpu.example.com\"");
}

}  // namespace
}  // namespace galen::bench
