#include "base/data/yaml.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

std::string Read(std::string_view text) {
  const StatusOr<Json> json = ParseYaml(text);
  return json.ok() ? json->Dump() : json.status().message();
}

TEST(ParseYaml, ReadsAKubeconfig) {
  EXPECT_EQ(Read("apiVersion: v1\n"
                 "clusters:\n"
                 "- name: home   # the first\n"
                 "  cluster: {server: 'https://127.0.0.1:6443', insecure-skip-tls-verify: false}\n"
                 "users: []\n"
                 "preferences: {}\n"
                 "note: |\n"
                 "  two\n"
                 "  lines\n"),
            R"({"apiVersion":"v1","clusters":[{"cluster":{"insecure-skip-tls-verify":false,)"
            R"("server":"https://127.0.0.1:6443"},"name":"home"}],"note":"two\nlines\n",)"
            R"("preferences":{},"users":[]})");
}

TEST(ParseYaml, QuotedScalarsAndTagsKeepTheirTypes) {
  EXPECT_EQ(Read(R"({a: "1", b: '', c: !!str 1, d: !!int "7", e: ~, f: })"),
            R"({"a":"1","b":"","c":"1","d":7,"e":null,"f":null})");
}

TEST(ParseYaml, NothingIsNull) {
  EXPECT_EQ(Read(""), "null");
  EXPECT_EQ(Read("# only a comment\n"), "null");
  EXPECT_EQ(Read("---\n...\n"), "null");
}

TEST(ParseYaml, JsonIsYaml) {
  EXPECT_EQ(Read(R"({"a":[1,{"b":"c\n"}]})"), R"({"a":[1,{"b":"c\n"}]})");
}

TEST(ParseYaml, AliasIsACopyOfItsAnchor) {
  EXPECT_EQ(Read("a: &x {n: 1}\nb: *x\nc: [*x, *x]\n"),
            R"({"a":{"n":1},"b":{"n":1},"c":[{"n":1},{"n":1}]})");
}

TEST(ParseYaml, FaultsNameLineAndColumn) {
  const std::pair<const char*, const char*> faults[] = {
      {"a: 1\nb: 2\na: 3\n", "line 3, column 1: key \"a\" comes twice"},
      {"a:\n\t- 1\n", "line 2"},
      {"a: [1, 2\n", "line 2"},
      {"a: *nobody\n", "line 1, column 4: alias *nobody"},
      {"? [1]\n: 2\n", "line 1, column 3: a key must be plain text"},
      {"a: &x {b: 1}\nc:\n  <<: *x\n", "line 3, column 3: merging"},
      {"a: !!binary aGk=\n", "line 1, column 4: tag"},
      {"a: 'x\n", "line 2"},
  };
  for (const auto& [text, part] : faults) {
    EXPECT_NE(Read(text).find(part), std::string::npos) << text << "gave: " << Read(text);
    EXPECT_EQ(ParseYaml(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(ParseYaml, ReportsEveryKeyThatComesTwiceAndWhatIsWrongBesides) {
  EXPECT_EQ(ParseYaml("a: 1\nb: {c: 2, c: 3}\na: 4\n").status().message(),
            "YAML line 2, column 11: key \"c\" comes twice; YAML line 3, column 1: key \"a\" comes "
            "twice");
  const std::string both = ParseYaml("a: 1\na: 2\nb: *nobody\n").status().message();
  EXPECT_NE(both.find("\"a\" comes twice; "), std::string::npos) << both;
  EXPECT_NE(both.find("alias *nobody"), std::string::npos) << both;
  EXPECT_EQ(ParseYamlStream("a: 1\n---\nb: 1\nb: 2\n").status().message(),
            "YAML line 4, column 1: key \"b\" comes twice");
}

TEST(ReadYaml, GivesTheValueBesideKeysThatComeTwice) {
  const StatusOr<YamlReading> reading = ReadYaml("a: 1\nb: 2\na: 3\n");
  ASSERT_TRUE(reading.ok()) << reading.status().message();
  EXPECT_EQ(reading->value.Dump(), R"({"a":3,"b":2})");
  EXPECT_EQ(reading->doubled, (std::vector<DoubledKey>{{3, 1, "a"}}));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a: 1\n";
  EXPECT_EQ(ReadYaml(many)->doubled.size(), kDoubledKeysMax);
  EXPECT_FALSE(ReadYaml("a: [\n").ok());
}

TEST(ParseYaml, BytesThatAreNoTextAreAnError) {
  EXPECT_FALSE(ParseYaml("a: \xff\xfe\n").ok());
  EXPECT_FALSE(ParseYaml(std::string_view("a: b\0c\n", 7)).ok());
}

TEST(ParseYaml, SecondDocumentIsAnError) {
  EXPECT_NE(Read("a: 1\n---\nb: 2\n").find("more than one document"), std::string::npos);
}

TEST(ParseYaml, DepthIsBounded) {
  EXPECT_TRUE(ParseYaml(std::string(128, '[') + std::string(128, ']')).ok());
  EXPECT_NE(Read(std::string(129, '[') + std::string(129, ']')).find("deeper"), std::string::npos);
  std::string by_alias = "a0: &a0 [1]\n";
  for (int i = 1; i < 200; ++i) by_alias += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  EXPECT_NE(Read(by_alias).find("deeper"), std::string::npos);
}

TEST(ParseYaml, BillionLaughsAreAnErrorAndNotAFullMemory) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 30; ++i) {
    bomb +=
        fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  }
  EXPECT_NE(Read(bomb).find("anchors and aliases"), std::string::npos);
}

TEST(ParseYamlStream, GivesEveryDocumentThatIsNotEmpty) {
  const auto documents = ParseYamlStream("---\n---\na: 1\n---\n# nothing\n---\n- b\n...\n");
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[0].Dump(), R"({"a":1})");
  EXPECT_EQ((*documents)[1].Dump(), R"(["b"])");
  EXPECT_TRUE(ParseYamlStream("")->empty());
}

TEST(ParseYamlStream, AnchorsEndWithTheirDocument) {
  EXPECT_FALSE(ParseYamlStream("a: &x 1\n---\nb: *x\n").ok());
}

}  // namespace
}  // namespace galen
