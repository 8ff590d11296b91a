#include <gtest/gtest.h>

#include "api_sim/objects/built_in_types.h"
#include "api_sim/objects/kinds.h"

namespace galen::api_sim {
namespace {

TEST(TypeNotation, ReadsEveryForm) {
  const TypeNotation types(
      {"Root: text count:int=3 free:any words[] set{} deep:Leaf@\n"
       "  keyed:Leaf[a,b] amounts:map.quantity=",
       "Leaf: a b:bool\n"});
  const Json properties = types.SchemaOfKind("Root")["properties"];
  EXPECT_EQ(properties["text"]["type"].AsString(), "string");
  EXPECT_EQ(properties["count"]["type"].AsString(), "integer");
  EXPECT_EQ(properties["count"]["default"].AsInt(), 3);
  EXPECT_TRUE(properties["free"]["x-kubernetes-preserve-unknown-fields"].AsBool());
  EXPECT_EQ(properties["words"]["x-kubernetes-list-type"].AsString(), "atomic");
  EXPECT_EQ(properties["words"]["items"]["type"].AsString(), "string");
  EXPECT_EQ(properties["set"]["x-kubernetes-list-type"].AsString(), "set");
  EXPECT_EQ(properties["deep"]["x-kubernetes-map-type"].AsString(), "atomic");
  EXPECT_EQ(properties["keyed"]["x-kubernetes-list-map-keys"], Json::MakeArray({"a", "b"}));
  EXPECT_EQ(properties["keyed"]["items"]["properties"]["b"]["type"].AsString(), "boolean");
  EXPECT_TRUE(properties["amounts"]["additionalProperties"]["x-kubernetes-int-or-string"].AsBool());
  EXPECT_TRUE(properties.Has("apiVersion"));
}

TEST(BuiltInTypes, KnowHowTheListsOfAPodMerge) {
  const Json pod = BuiltInSchema("Pod")["properties"];
  const Json& spec = pod["spec"]["properties"];
  EXPECT_EQ(spec["containers"]["x-kubernetes-list-map-keys"], Json::MakeArray({"name"}));
  EXPECT_EQ(spec["tolerations"]["x-kubernetes-list-type"].AsString(), "atomic");
  const Json& container = spec["containers"]["items"]["properties"];
  EXPECT_EQ(container["ports"]["x-kubernetes-list-map-keys"],
            Json::MakeArray({"containerPort", "protocol"}));
  // A container refers to claims; it does not hold ResourceClaim objects.
  EXPECT_TRUE(container["resources"]["properties"]["claims"]["items"]["properties"].Has("request"));
  const Json& status = pod["status"]["properties"]["containerStatuses"]["items"]["properties"];
  EXPECT_EQ(status["allocatedResourcesStatus"]["x-kubernetes-list-map-keys"],
            Json::MakeArray({"name"}));
}

TEST(BuiltInTypes, DescribeEveryKind) {
  for (const Kind& kind : BuiltInKinds()) {
    ASSERT_FALSE(kind.schema.is_null()) << kind.resource.kind;
    EXPECT_TRUE(kind.schema["properties"]["metadata"]["properties"].Has("managedFields"));
    EXPECT_EQ(kind.schema["properties"].Has("status"), kind.has_status) << kind.resource.kind;
  }
}

}  // namespace
}  // namespace galen::api_sim
