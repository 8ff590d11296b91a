#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "base/data/yaml.h"
#include "probes/rule_fields.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rule_text/rule_text.h"

namespace galen::probes {
namespace {

// That the reader takes the fields of the table and no others it checks itself, with each row.

TEST(RuleFields, EachStandsOnceInItsRow) {
  for (const RowKind kind : {RowKind::kExporter, RowKind::kSign, RowKind::kRule}) {
    std::set<std::string_view> names;
    for (const Field& field : FieldsOf(kind)) {
      EXPECT_TRUE(names.insert(field.name).second) << field.name;
      EXPECT_FALSE(field.help.empty()) << field.name;
      EXPECT_EQ(FindField(kind, field.name), &field);
    }
  }
  EXPECT_EQ(FindField(RowKind::kRule, "unheard-of"), nullptr);
}

TEST(RulesSchema, HasEachFieldOfARow) {
  const Json schema = RulesSchema();
  for (const auto& [list, kind] :
       {std::pair("exporters", RowKind::kExporter), std::pair("signs", RowKind::kSign),
        std::pair("rules", RowKind::kRule)}) {
    const Json& row = schema["properties"][list]["items"];
    EXPECT_EQ(row["properties"].members().size(), FieldsOf(kind).size());
    EXPECT_FALSE(row["additionalProperties"].AsBool(true));
  }
  const Json& state = schema["properties"]["rules"]["items"]["properties"]["state"];
  EXPECT_EQ(state["enum"].Dump(), R"(["Healthy","Unknown","Degraded","Unhealthy"])");
  EXPECT_EQ(schema["properties"]["rules"]["items"]["required"].Dump(), R"(["id","sign"])");
}

// Each built-in table by the schema, as far as this looks: lists, fields and fixed texts.
TEST(RulesSchema, TakesTheBuiltInTables) {
  const Json schema = RulesSchema();
  std::istringstream names(BuiltInRuleNames());
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    const StatusOr<Json> table = ParseYaml(BuiltInRules(name));
    ASSERT_TRUE(table.ok()) << name;
    for (const auto& [part, rows] : table->members()) {
      ASSERT_TRUE(schema["properties"].Has(part)) << part;
      for (const Json& row : rows.items()) {
        for (const auto& [field, value] : row.members()) {
          const Json& wanted = schema["properties"][part]["items"]["properties"][field];
          EXPECT_FALSE(wanted.is_null()) << name << " " << field;
          const Json::Array& choices = wanted["enum"].items();
          if (!choices.empty()) {
            EXPECT_NE(std::ranges::find(choices, value), choices.end()) << name << " " << field;
          }
        }
      }
    }
  }
}

TEST(RulesSchema, IsThePublishedOne) {
  std::ifstream file(GALEN_SOURCE_DIR "/docs/formats/rules.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), RulesSchema().DumpPretty() + "\n")
      << "galen rules schema > docs/formats/rules.schema.json";
}

}  // namespace
}  // namespace galen::probes
