#include "cli/why.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

TEST(Why, TakesAPodInTheThreeWaysPeopleWriteIt) {
  EXPECT_EQ(*ParsePod("trainer-0", "train"), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("pod/trainer-0", "train"), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("train/trainer-0", ""), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("trainer-0", ""), (ObjectKey{"", "trainer-0"}));
}

TEST(Why, RefusesWhatNamesNoPod) {
  for (const std::string text : {"", "pod/", "a/b/c"}) {
    EXPECT_EQ(ParsePod(text, "").status().code(), Code::kInvalidArgument) << text;
  }
  const auto elsewhere = ParsePod("serve/llm-0", "train");
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.status().message().find("train"), std::string::npos);
}

TEST(Why, SaysWhyTheAgentWasNotAskedAndWhatIsMissing) {
  const std::string note =
      NoteOf(PermissionDenied("connect to /run/galen/agent.sock: Permission denied"), "node-7");
  EXPECT_NE(note.find("/run/galen/agent.sock: Permission denied"), std::string::npos);
  EXPECT_NE(note.find("sudo"), std::string::npos);
  EXPECT_NE(note.find("node-7"), std::string::npos);
  EXPECT_EQ(NoteOf(NotFound("connect to x: No such file"), "n").find("sudo"), std::string::npos);
}

TEST(Why, TellsProgramsTooThatTheAnswerIsNotTheWholeOne) {
  Explanation explanation{
      .pod = {"serve", "llm-0"}, .node = "node-7", .devices = {}, .steps = {}, .note = ""};
  EXPECT_FALSE(ToJson(explanation).Has("note"));
  explanation.note = "The agent was not asked: no socket.";
  EXPECT_EQ(ToJson(explanation)["note"].AsString(), explanation.note);
}

}  // namespace
}  // namespace galen::cli
