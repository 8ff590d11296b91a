#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"
#include "api_sim/storage/presentation.h"

namespace galen::api_sim {
namespace {

const Json kObject = ToJson(R"({"spec": {"a": 1, "list": [10, 20, 30]},
    "metadata": {"labels": {"a.b/c": "dotted"}},
    "status": {"conditions": [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]}})");

TEST(JsonPath, FollowsMembersIndexesAndFilters) {
  const std::pair<const char*, Json> cases[] = {
      {".spec.a", 1},
      {"{.spec.a}", 1},
      {".spec.list[1]", 20},
      {".spec.list[-1]", 30},
      {".metadata.labels.a\\.b/c", "dotted"},
      {".metadata.labels['a\\.b/c']", "dotted"},
      {".status.conditions[?(@.type==\"Ready\")].status", "True"},
      {".status.conditions[?(@.type != 'Ready')].status", "x"},
      {".spec['a']", 1}};
  for (const auto& [path, wanted] : cases) {
    EXPECT_EQ(EvaluateJsonPath(path, kObject), std::vector<Json>{wanted}) << path;
  }
  EXPECT_EQ(EvaluateJsonPath(".spec.list[*]", kObject), (std::vector<Json>{10, 20, 30}));
}

TEST(JsonPath, LeadsNowhereWithoutComplaint) {
  for (const char* path : {".spec.none", ".spec.list[9]", ".spec.a.b", ".spec.list[", ".x[]",
                           ".spec.list[abc]", ".spec.list[1x]", ".spec.list[99999999999999999999]",
                           ".status.conditions[?(@.type==\"No\")].status", ".spec.a["}) {
    EXPECT_TRUE(EvaluateJsonPath(path, kObject).empty()) << path;
  }
}

}  // namespace
}  // namespace galen::api_sim
