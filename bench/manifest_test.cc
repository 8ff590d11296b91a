#include "bench/manifest.h"

#include <gtest/gtest.h>

namespace galen::bench {
namespace {

TEST(Manifest, PutsOnlyNamespacedKindsIntoTheNamespace) {
  std::vector<Manifest> all = ClassOf({.driver = "gpu.example.com"});
  all.push_back(Namespace());
  for (const Manifest& manifest : all) {
    EXPECT_EQ(manifest.object["metadata"].Has("namespace"), manifest.resource.namespaced)
        << manifest.object.Dump();
    EXPECT_EQ(manifest.object["kind"].AsString(), manifest.resource.kind);
  }
}

TEST(Manifest, GivesEachPodAClaimOfItsOwnForDevicesOfTheDriver) {
  const PodPlan plan{.driver = "gpu.example.com", .count = 3, .first = 5, .devices = 8};
  const std::vector<Manifest> pods = PodsOf(plan);
  ASSERT_EQ(pods.size(), 3u);
  const Json& pod = pods[2].object;
  EXPECT_EQ(pod["metadata"]["name"].AsString(), PodName(7));
  const Json& claim = pod["spec"]["resourceClaims"][0];
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["claims"][0]["name"], claim["name"]);

  const std::vector<Manifest> all = ClassOf(plan);
  EXPECT_EQ(all[1].object["metadata"]["name"], claim["resourceClaimTemplateName"]);
  const Json& request = all[1].object["spec"]["spec"]["devices"]["requests"][0];
  EXPECT_EQ(request["exactly"]["count"].AsInt(), 8);
  EXPECT_EQ(all[0].object["spec"]["selectors"][0]["cel"]["expression"].AsString(),
            "device.driver == \"gpu.example.com\"");
}

}  // namespace
}  // namespace galen::bench
