#include <gtest/gtest.h>

#include <limits>

#include "base/data/yaml.h"

namespace galen {
namespace {

Json ParsedYaml(std::string_view text) { return *Json::Parse(text); }

TEST(WriteYaml, WritesAsKubectlDoes) {
  EXPECT_EQ(
      WriteYaml(ParsedYaml(R"({"kind":"Pod","metadata":{"name":"a","creationTimestamp":)"
                           R"("2026-11-21T14:02:11Z"},"spec":{"containers":[{"name":"c","args":)"
                           R"(["-v","1"],"tty":true}],"nodeSelector":{},"volumes":[]}})")),
      "kind: Pod\n"
      "metadata:\n"
      "  creationTimestamp: \"2026-11-21T14:02:11Z\"\n"
      "  name: a\n"
      "spec:\n"
      "  containers:\n"
      "  - args:\n"
      "    - -v\n"
      "    - \"1\"\n"
      "    name: c\n"
      "    tty: true\n"
      "  nodeSelector: {}\n"
      "  volumes: []\n");
}

TEST(WriteYaml, SeveralLinesStayLines) {
  EXPECT_EQ(WriteYaml(ParsedYaml(R"({"a":"one\ntwo\n"})")), "a: |\n  one\n  two\n");
}

TEST(WriteYaml, LongLinesAreNotFolded) {
  const std::string sentence =
      "GPU temperature 91 °C exceeds 85 °C, " + std::string(200, 'x') + " end";
  EXPECT_EQ(WriteYaml(Json::MakeObject({{"message", sentence}})), "message: " + sentence + "\n");
}

TEST(WriteYaml, WhatIsWrittenReadsBackTheSame) {
  for (const char* text :
       {R"({"a":"x: y","b":"# no","c":"- no","d":"'q'","e":"\"","f":"a #b",)"
        R"("g":" lead","h":"trail "})",
        R"(["",null,"null","~",true,"true",0,"0",1.5,"1.5","yes","0x1f","1e3",)"
        R"(-7,"-7","1:30","<<"])",
        R"({"*a":"&b","!c":"%d","@e":"`f","[g":"{h","|":">","?":":","k: v":"x"})",
        R"(["tab\there","line\nbreak","cr\rx",)"
        R"("nul\u0000","\u001b[31m","é \ud83d\ude00","\u0085x"])",
        R"(["\n","a\n","\na"," a\nb","a\n\n","a \nb","trailing space \n"])",
        R"([[],[[]],{},{"a":{}}])", R"("plain")", R"(12)", R"([1.0,1e300,-0.25])"}) {
    const Json value = ParsedYaml(text);
    const std::string yaml = WriteYaml(value);
    const StatusOr<Json> back = ParseYaml(yaml);
    ASSERT_TRUE(back.ok()) << ToString(back.status()) << "\n" << yaml;
    EXPECT_EQ(back->Dump(), value.Dump()) << yaml;
  }
}

TEST(WriteYaml, NoTextOfItCommandsATerminal) {
  const Json json =
      Json::MakeObject({{"model", "H200 \u009b2J\u202e"}, {"a\u2066", "two\nlines \u202e\x7f"}});
  const std::string yaml = WriteYaml(json);
  for (const char* control : {"\u009b", "\u202e", "\u2066", "\x7f"}) {
    EXPECT_EQ(yaml.find(control), std::string::npos) << yaml;
  }
  const StatusOr<Json> back = ParseYaml(yaml);
  ASSERT_TRUE(back.ok()) << ToString(back.status()) << "\n" << yaml;
  EXPECT_EQ(*back, json) << yaml;
}

TEST(WriteYaml, InfinityHasItsOwnName) {
  EXPECT_EQ(WriteYaml(Json::MakeArray({std::numeric_limits<double>::infinity()})), "- .inf\n");
}

}  // namespace
}  // namespace galen
