#include "api_sim/patch/managed_fields.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

class ManagedFields : public testing::Test {
 protected:
  Outcome<Json> Apply(const Json& live, const std::string& manager, std::string_view applied,
                      const std::string& subresource = "", bool force = false) const {
    return ApplyConfiguration({.kind = *pods_,
                               .manager = manager,
                               .subresource = subresource,
                               .force = force,
                               .now = WallTime{}},
                              live, ToJson(applied));
  }
  std::size_t Owners(const Json& object) const {
    return object["metadata"]["managedFields"].items().size();
  }

  KindTable kinds_;
  KindRef pods_ = kinds_.Find("", "v1", "pods");
};

constexpr const char* kFirst = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a",
    "labels": {"x": "1"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}})";

TEST_F(ManagedFields, AManagerOwnsWhatItApplied) {
  const Json pod = Apply(Json::MakeObject({}), "one", kFirst).value();
  ASSERT_EQ(Owners(pod), 1u);
  const Json& entry = pod["metadata"]["managedFields"][0];
  EXPECT_EQ(entry["manager"].AsString(), "one");
  EXPECT_EQ(entry["fieldsV1"], ToJson(R"({"f:metadata":{"f:labels":{"f:x":{}}},
      "f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}})"));
}

TEST_F(ManagedFields, StatusIsNoPartOfTheMainConfiguration) {
  const Json pod = Apply(Json::MakeObject({}), "one",
                         R"({"metadata": {"name": "a"}, "status": {"phase": "Failed"}})")
                       .value();
  EXPECT_FALSE(pod.Has("status"));
  EXPECT_EQ(Owners(pod), 0u);
}

TEST_F(ManagedFields, ConflictNamesFieldAndOwner) {
  const Json pod = Apply(Json::MakeObject({}), "one", kFirst).value();
  const auto refused = Apply(
      pod, "two",
      R"({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "j"}]}})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code, 409);
  EXPECT_EQ(refused.status().message,
            "Apply failed with 1 conflict: conflict with \"one\" using v1: "
            ".spec.containers[name=\"c\"].image");
}

TEST_F(ManagedFields, UpdateTakesAChangedFieldFromItsOwner) {
  const Json before = Apply(Json::MakeObject({}), "one", kFirst).value();
  Json after = before;
  after["metadata"]["labels"]["x"] = "2";
  TrackUpdate(*pods_, "editor", "", WallTime{}, before, after);
  ASSERT_EQ(Owners(after), 2u);
  EXPECT_FALSE(after["metadata"]["managedFields"][0]["fieldsV1"].Has("f:metadata"));
  EXPECT_TRUE(
      after["metadata"]["managedFields"][1]["fieldsV1"]["f:metadata"]["f:labels"].Has("f:x"));
}

TEST_F(ManagedFields, AnOwnerOfNothingIsForgotten) {
  const Json before =
      Apply(Json::MakeObject({}), "one", R"({"metadata": {"name": "a", "labels": {"x": "1"}}})")
          .value();
  Json after = before;
  after["metadata"]["labels"]["x"] = "2";
  TrackUpdate(*pods_, "editor", "", WallTime{}, before, after);
  ASSERT_EQ(Owners(after), 1u);
  EXPECT_EQ(after["metadata"]["managedFields"][0]["manager"].AsString(), "editor");
}

TEST_F(ManagedFields, TimesDoNotMakeOwnershipDiffer) {
  const Json pod = Apply(Json::MakeObject({}), "one", kFirst).value();
  Json later = pod["metadata"]["managedFields"];
  later.MutableItems()[0]["time"] = "2030-01-01T00:00:00Z";
  EXPECT_TRUE(IsSameOwnership(pod["metadata"]["managedFields"], later));
  later.MutableItems()[0]["manager"] = "two";
  EXPECT_FALSE(IsSameOwnership(pod["metadata"]["managedFields"], later));
}

}  // namespace
}  // namespace galen::api_sim
