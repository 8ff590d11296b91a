#include "api_sim/objects/object_meta.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

Json Named(std::string_view name) {
  Json object = Json::MakeObject({});
  object["metadata"]["name"] = name;
  return object;
}

class ObjectMeta : public testing::Test {
 protected:
  KindTable kinds_;
  KindRef pods_ = kinds_.Find("", "v1", "pods");
  KindRef claims_ = kinds_.Find("resource.k8s.io", "v1", "resourceclaims");
  Random random_{1};
};

TEST_F(ObjectMeta, ChecksNamesLabelsAndOwners) {
  EXPECT_TRUE(CheckMeta(*pods_, Named("a.b-c")).empty());
  EXPECT_EQ(CheckMeta(*pods_, Named("")).front().reason, "FieldValueRequired");
  EXPECT_EQ(CheckMeta(*pods_, Named("A")).front().field, "metadata.name");
  Json object = Named("a");
  object["metadata"]["labels"] =
      ToJson(R"({"x.example.com/y": "ok", "-bad": "", "k": "no spaces"})");
  EXPECT_EQ(CheckMeta(*pods_, object).size(), 2u);
  object = Named("a");
  object["metadata"]["ownerReferences"] =
      ToJson(R"([{"apiVersion": "v1", "kind": "Pod", "name": "p"}])");
  EXPECT_EQ(CheckMeta(*pods_, object).front().field, "metadata.ownerReferences[0].uid");
}

TEST_F(ObjectMeta, BoundsAnnotations) {
  Json object = Named("a");
  object["metadata"]["annotations"]["k"] = std::string(kAnnotationsBytesMax, 'x');
  EXPECT_EQ(CheckMeta(*pods_, object).front().reason, "FieldValueTooLong");
}

TEST_F(ObjectMeta, CutsALongBaseSoThatTheNameFits) {
  Json object = Json::MakeObject({});
  object["metadata"]["generateName"] = std::string(80, 'a');
  StampNew(*pods_, object, random_, WallTime{});
  EXPECT_EQ(object["metadata"]["name"].AsString().size(), 63u);
}

TEST_F(ObjectMeta, CountsGenerationsOnlyForWhatIsWanted) {
  const Json before = ToJson(R"({"metadata": {"generation": 4}, "spec": {"a": 1}, "status": {}})");
  const auto after = [&](const Kind& kind, std::string_view text) {
    Json object = ToJson(text);
    object["metadata"]["generation"] = 4;
    CountGeneration(kind, before, object);
    return object["metadata"]["generation"].AsInt();
  };
  EXPECT_EQ(after(*pods_, R"({"spec": {"a": 2}, "status": {}})"), 5);
  EXPECT_EQ(after(*pods_, R"({"spec": {"a": 1}, "status": {"b": 1}})"), 4);
  EXPECT_EQ(after(*claims_, R"({"spec": {"a": 2}, "status": {}})"), 4);
}

TEST_F(ObjectMeta, KeepsWhatOnlyTheServerSays) {
  const Json before = ToJson(R"({"metadata": {"uid": "u", "creationTimestamp": "t"}})");
  Json after = ToJson(R"({"metadata": {"uid": "x", "deletionTimestamp": "now", "labels": {}}})");
  KeepSystemMeta(before, after);
  EXPECT_EQ(after, ToJson(R"({"metadata": {"uid": "u", "creationTimestamp": "t", "labels": {}}})"));
}

}  // namespace
}  // namespace galen::api_sim
