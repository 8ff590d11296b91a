#include "api_sim/objects/kinds.h"

#include <gtest/gtest.h>

#include <set>

#include "api_sim/serving/discovery.h"

namespace galen::api_sim {
namespace {

Kind Gadget(std::string version) {
  Kind kind;
  kind.resource = {"example.com", std::move(version), "gadgets", "Gadget"};
  return kind;
}

TEST(KindTable, FindsBuiltInKinds) {
  const KindTable kinds;
  EXPECT_EQ(kinds.Find("", "v1", "pods")->resource, kube::kPods);
  EXPECT_EQ(kinds.FindCollection("resource.k8s.io/resourceslices")->resource,
            kube::kResourceSlices);
  EXPECT_EQ(kinds.Find("", "v2", "pods"), nullptr);
  EXPECT_EQ(kinds.FindCollection("/pod"), nullptr);
  EXPECT_EQ(kinds.FindCollection("nonsense"), nullptr);
}

TEST(KindTable, NamesNothingTwice) {
  std::set<std::string> names;
  for (const Kind& kind : BuiltInKinds()) {
    std::vector<std::string> own = kind.short_names;
    own.push_back(kind.singular);
    own.push_back(kind.resource.plural);
    for (const std::string& name : own) EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(KindTable, AddsAndTakesAwayAllVersionsOfAKind) {
  KindTable kinds;
  for (const char* version : {"v1alpha1", "v1", "v1beta2", "v2"}) kinds.Put(Gadget(version));
  EXPECT_TRUE(kinds.HasVersion("example.com", "v1beta2"));
  EXPECT_EQ(VersionsOf(kinds, "example.com"),
            (std::vector<std::string>{"v2", "v1", "v1beta2", "v1alpha1"}));
  kinds.Remove("example.com", "gadgets");
  EXPECT_TRUE(VersionsOf(kinds, "example.com").empty());
}

}  // namespace
}  // namespace galen::api_sim
