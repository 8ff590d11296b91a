#include "kube/objects/meta.h"

#include <gtest/gtest.h>

#include "kube/test_json.h"

namespace galen::kube {
namespace {

TEST(Meta, ReadsWhatEveryObjectCarries) {
  const StatusOr<Meta> meta = DecodeMeta(JsonOf(R"({"metadata":{
      "name":"p","namespace":"a","uid":"u","creationTimestamp":"2026-11-21T14:02:11Z",
      "deletionTimestamp":"2026-11-21T14:03:11Z",
      "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"ju","controller":true},
                         {"apiVersion":"v1","kind":"Node","name":"n","uid":"nu"}]}})"));
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->key, (ObjectKey{"a", "p"}));
  EXPECT_EQ(meta->uid, "u");
  EXPECT_EQ(FormatRfc3339(*meta->created), "2026-11-21T14:02:11Z");
  EXPECT_EQ(FormatRfc3339(*meta->deleted), "2026-11-21T14:03:11Z");
  ASSERT_EQ(meta->owners.size(), 2u);
  EXPECT_EQ(meta->owners[0], (OwnerReference{"batch/v1", "Job", "j", "ju", true}));
  EXPECT_FALSE(meta->owners[1].controller);
}

TEST(Meta, OwnersReadBackAsTheyWereWritten) {
  const std::vector<OwnerReference> owners = {{"batch/v1", "Job", "j", "ju", true},
                                              {"v1", "Node", "n", "nu", false}};
  Json object = JsonOf(R"({"metadata":{"name":"p","uid":"u"}})");
  object["metadata"]["ownerReferences"] = EncodeOwners(owners);
  EXPECT_EQ(DecodeMeta(object)->owners, owners);
}

TEST(Meta, RefusesWhatNamesNothing) {
  EXPECT_EQ(DecodeMeta(JsonOf("{}")).status().message(), "metadata is missing");
  EXPECT_EQ(DecodeMeta(JsonOf(R"({"metadata":[]})")).status().message(), "metadata is missing");
  EXPECT_EQ(DecodeMeta(JsonOf(R"({"metadata":{"uid":"u"}})")).status().message(),
            "metadata.name is missing");
  EXPECT_EQ(DecodeMeta(JsonOf(R"({"metadata":{"name":"p"}})")).status().message(),
            "metadata.uid is missing");
}

TEST(Meta, ATimeThatIsNoneIsAbsent) {
  EXPECT_EQ(DecodeTime(JsonOf("null")), std::nullopt);
  EXPECT_EQ(DecodeTime(JsonOf("\"yesterday\"")), std::nullopt);
  EXPECT_EQ(DecodeTime(JsonOf("7")), std::nullopt);
}

}  // namespace
}  // namespace galen::kube
