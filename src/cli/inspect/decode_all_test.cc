#include "cli/inspect/decode_all.h"

#include <gtest/gtest.h>

#include "kube/objects/pod.h"

namespace galen::cli {
namespace {

TEST(DecodeAll, LeavesOutOnlyWhatCannotBeReadAndSaysWhich) {
  const std::vector<Json> objects = {
      *Json::Parse(R"({"metadata": {"name": "a", "namespace": "n", "uid": "1"}})"),
      *Json::Parse(R"({"metadata": {"name": "broken", "namespace": "n"}})"),
      *Json::Parse(R"({"metadata": {"name": "b", "namespace": "n", "uid": "2"}})")};
  std::vector<std::string> notes;
  const auto pods = DecodeAll<kube::Pod>(objects, kube::kPods, kube::DecodePod, notes);
  ASSERT_EQ(pods.size(), 2u);
  EXPECT_EQ(pods[1].meta.key.name, "b");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("Pod n/broken is left out: "), std::string::npos) << notes[0];
}

}  // namespace
}  // namespace galen::cli
