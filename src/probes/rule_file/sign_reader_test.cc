#include "probes/rule_file/sign_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/test_faults.h"
#include "probes/rule_text/rule_text.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A file with these rows of `signs`.
std::string FileOf(std::string_view signs) { return fmt::format("signs:\n{}rules: []\n", signs); }

std::string SignFaultsOf(std::string_view signs) {
  return WithoutColumns(ParseRules(FileOf(signs), "r.yaml").status().message());
}

TEST(SignReader, ReadsACommandWithItsBounds) {
  const StatusOr<RuleTable> table =
      ParseRules(FileOf("- {name: fan, kind: reading, command: [/opt/fan.sh, '{pci}', 2]}\n"
                        "- {name: t, kind: counter, command: [/opt/t], output: json, every: 1m,\n"
                        "   timeout: 500ms, cpu: 10s}\n"),
                 "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->signs[0].command, (CommandSource{.command = {"/opt/fan.sh", "{pci}", "2"}}));
  EXPECT_EQ(table->signs[1].command,
            (CommandSource{
                .command = {"/opt/t"}, .json = true, .every = 1min, .timeout = 500ms, .cpu = 10s}));
}

TEST(SignReader, WordsOfAFileAreNumbers) {
  const StatusOr<RuleTable> table = ParseRules(
      FileOf(
          "- {name: s, kind: reading, file: state, words: {live: 0, 'power off': 2.5, '': 3}}\n"),
      "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->signs[0].file->words,
            (std::map<std::string, double>{{"", 3}, {"live", 0}, {"power off", 2.5}}));
  const std::string faults = SignFaultsOf(
      "- {name: a, kind: reading, file: f, words: {live: well}}\n"
      "- {name: b, kind: reading, words: {live: 0}}\n"
      "- {name: c, kind: reading, file: f, words: [live]}\n");
  EXPECT_THAT(faults, HasSubstr("r.yaml:2: a: words 'well' of 'live' is not a number"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:3: b: words needs a `file` that it is about"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:4: c: words is not a mapping of texts to numbers"));
}

TEST(SignReader, NamesEveryFaultOfACommand) {
  const std::string faults = SignFaultsOf(
      "- {name: a, kind: event, command: [/c]}\n"
      "- {name: b, kind: counter, command: [/c]}\n"
      "- {name: c, kind: reading, command: [fan.sh]}\n"
      "- {name: d, kind: reading, command: []}\n"
      "- {name: e, kind: reading, command: ['/opt/{device}']}\n"
      "- {name: f, kind: reading, command: [/c, '{bus}'], output: xml}\n"
      "- {name: g, kind: reading, command: [/c, 'a}'], every: 100ms, timeout: 1ms}\n"
      "- {name: h, kind: reading, command: [/c], every: 5s, timeout: 10s, cpu: 1500ms}\n"
      "- {name: i, kind: reading, command: [/c], file: f}\n"
      "- {name: j, kind: reading, command: /c, row: r}\n"
      "- {name: k, kind: reading, timeout: 1s, cpu: 1s, output: json}\n");
  for (const char* fault : {
           "r.yaml:2: a: command is run again and again, so the sign cannot be an event",
           "r.yaml:3: b: command gives 0 or 1, which is not a counter, unless `output` is json",
           "r.yaml:4: c: command begins with no program's whole path",
           "r.yaml:5: d: command begins with no program's whole path",
           "r.yaml:6: e: command has a placeholder in the program's path",
           "r.yaml:7: f: command knows no placeholder '{bus}': {device}, {pci}, {uuid}",
           "r.yaml:7: f: output 'xml' is not one of line, json",
           "r.yaml:8: g: command knows no placeholder '}'",
           "r.yaml:8: g: every is not from 1s to 24h",
           "r.yaml:8: g: timeout is not from 100ms to `every`",
           "r.yaml:9: h: timeout is not from 100ms to `every`",
           "r.yaml:9: h: cpu is not whole seconds from 1s to 1m",
           "r.yaml:10: i: command stands beside another source: a sign has one",
           "r.yaml:11: j: command is not a list",
           "r.yaml:11: j: row needs a `file` that it is about",
           "r.yaml:12: k: timeout needs a `command` that it is about",
           "r.yaml:12: k: output needs a `command` that it is about",
       }) {
    EXPECT_THAT(faults, HasSubstr(fault));
  }
}

TEST(SignReader, WhatIsNotSaidFitsToHowOftenACheckIsMade) {
  const StatusOr<RuleTable> table = ParseRules(
      "exporters:\n"
      "- {name: x, url: 'unix:/x', every: 1s}\n"
      "- {name: y, url: 'unix:/y', every: 10m}\n"
      "signs:\n- {name: fan, kind: reading, command: [/c], every: 1s}\n"
      "rules: []\n",
      "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->signs[0].command->timeout, 1s);
  EXPECT_EQ(table->exporters[0].timeout, 1s);
  EXPECT_EQ(table->exporters[1].patience, 20min);
}

TEST(SignReader, ATableHasABoundedNumberOfCommands) {
  std::string signs;
  for (std::size_t i = 0; i <= kCommandSignsMax; ++i) {
    signs += fmt::format("- {{name: c{}, kind: reading, command: [/c]}}\n", i);
  }
  EXPECT_THAT(SignFaultsOf(signs), HasSubstr("signs: command stands in 33 signs, at most 32 fit"));
}

TEST(SignReader, ReadsAnExporterAndWhatOfItIsASign) {
  const StatusOr<RuleTable> table = ParseRules(
      "exporters:\n"
      "- {name: x, url: 'http://10.0.0.1:1/m', remote: true, labels: {id: '{uuid}'}, every: 30s,\n"
      "   timeout: 2s, patience: 5m}\n"
      "signs:\n"
      "- {name: a, kind: reading, exporter: x, metric: m, labels: {core: 1}, optional: true}\n"
      "rules: []\n",
      "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->exporters[0], (ExporterSpec{.name = "x",
                                               .url = "http://10.0.0.1:1/m",
                                               .remote = true,
                                               .labels = {{"id", "{uuid}"}},
                                               .every = 30s,
                                               .timeout = 2s,
                                               .patience = 5min}));
  EXPECT_EQ(
      table->signs[0].metric,
      (MetricSource{.exporter = "x", .name = "m", .labels = {{"core", "1"}}, .optional = true}));
}

TEST(SignReader, NamesEveryFaultOfAnExporter) {
  const std::string faults = WithoutColumns(
      ParseRules(
          "exporters:\n"
          "- {name: X, url: 'https://127.0.0.1/'}\n"
          "- {name: b, url: 'http://10.0.0.1:1/', labels: {id: '{bus}'}}\n"
          "- {name: c, url: 'unix:/x', every: 2h, timeout: 3h, patience: 1s}\n"
          "- {name: c, url: 'unix:/y'}\n"
          "signs:\n"
          "- {name: a, kind: reading, exporter: c}\n"
          "- {name: b, kind: reading, exporter: z, metric: m}\n"
          "- {name: c, kind: reading, exporter: c, metric: m, file: f}\n"
          "- {name: d, kind: reading, metric: m, labels: {a: b}, optional: true}\n"
          "- {name: e, kind: reading, exporter: c, metric: m, labels: {a: '{bus}'}, every: 1s}\n"
          "rules: []\n",
          "r.yaml")
          .status()
          .message());
  for (const char* fault : {
           "r.yaml:2: X: name is not lower-case letters",
           "r.yaml:2: X: url expected \"http://127.0.0.1:9400/metrics\"",
           "r.yaml:3: b: url is on another machine, whose word counts only with `remote: true`",
           "r.yaml:3: b: labels knows no placeholder '{bus}'",
           "r.yaml:4: c: every is not from 1s to 1h",
           "r.yaml:4: c: timeout is not from 100ms to `every`",
           "r.yaml:4: c: patience is not from twice `every` to 24h",
           "r.yaml:5: c: name is taken by a row above",
           "r.yaml:7: a: metric is missing: which metric of the exporter",
           "r.yaml:8: b: exporter 'z' is not among this file's exporters",
           "r.yaml:9: c: exporter stands beside another source: a sign has one",
           "r.yaml:10: d: metric needs a `exporter` that it is about",
           "r.yaml:10: d: labels needs a `exporter` that it is about",
           "r.yaml:11: e: labels knows no placeholder '{bus}'",
           "r.yaml:11: e: every needs a `file` or `command` that it is about",
       }) {
    EXPECT_THAT(faults, HasSubstr(fault));
  }
}

TEST(SignReader, AMetricIsExplainedWithWhereItIsRead) {
  const RuleTable table = *ParseRules(kDcgmRules, "dcgm");
  EXPECT_THAT(ExplainRule(*table.FindRule("row-remap-failure"), table),
              HasSubstr("  reads  metric DCGM_FI_DEV_ROW_REMAP_FAILURE with pci_bus_id=\"{pci}\"; "
                        "exporter dcgm at http://127.0.0.1:9400/metrics, every 15s, "
                        "at most 5s, the last value for 1m\n"));
}

// A table with one rule, on a sign that is read as `source` says.
StatusOr<RuleTable> RuleOn(std::string_view source) {
  return ParseRules(fmt::format("signs:\n- {{name: fan, kind: reading, {}}}\n"
                                "rules:\n- {{id: fan, sign: fan, when: == 1, state: Unhealthy, "
                                "code: Fan, owner: Hardware, sentence: 'Fan: {{detail}}'}}\n",
                                source),
                    "r.yaml");
}

TEST(SignReader, OnlyTheSentenceOfACommandHasADetail) {
  EXPECT_TRUE(RuleOn("command: [/c]").ok());
  EXPECT_THAT(RuleOn("file: fan").status().message(),
              HasSubstr("sentence has {detail}, which only a sign with a `command` gives"));
}

TEST(SignReader, ACommandIsExplainedWithItsBounds) {
  const RuleTable table = *RuleOn("command: [/opt/fan.sh, '{pci}'], every: 1m");
  EXPECT_THAT(
      ExplainRule(table.rules[0], table),
      HasSubstr("  reads  command /opt/fan.sh {pci}; every 1m, at most 5s and 2s of CPU\n"));
}

}  // namespace
}  // namespace galen::probes
