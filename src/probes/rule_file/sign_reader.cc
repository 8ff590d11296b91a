// Files are tested by rule_reader_test.cc.
#include "probes/rule_file/sign_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>

namespace galen::probes {
namespace {

// "/ 1000" or "* 8": from what a file says to the sign's unit.
double ReadScale(RuleRow& row) {
  const std::string text = row.Text("scale");
  if (text.empty()) return 1;
  const bool divides = text.starts_with('/');
  const std::size_t digits = std::min(text.find_first_not_of(' ', 1), text.size());
  const std::optional<double> number = NumberOf(Sign{.value = text.substr(digits)});
  if ((!divides && !text.starts_with('*')) || !number || *number <= 0) {
    row.Fault("scale", fmt::format("'{}' is not like \"/ 1000\" or \"* 8\"", text));
    return 1;
  }
  return divides ? 1 / *number : *number;
}

Several ReadSeveral(RuleRow& row, SignKind kind) {
  // Errors of all parts are errors of the device; of readings a person has to say which one counts.
  const Several usual = kind == SignKind::kCounter ? Several::kSum : Several::kFirst;
  if (row.Take("several").is_null()) return usual;
  const Several several = row.Choice<Several>("several", {{"first", Several::kFirst},
                                                          {"highest", Several::kHighest},
                                                          {"lowest", Several::kLowest},
                                                          {"sum", Several::kSum}});
  // A counter keeps the last value of a part that was removed; nobody can say what a reading of it
  // would be.
  if (several == Several::kSum && kind != SignKind::kCounter) {
    row.Fault("several", "a sum is of counters; of readings name first, highest or lowest");
  }
  return several;
}

// nullopt when the row has none.
std::optional<Expression> ReadExpression(RuleRow& row, std::string_view field) {
  if (row.Take(field).is_null()) return std::nullopt;
  Expression expression{.text = row.Text(field)};
  StatusOr<Pattern> pattern = Pattern::Create(expression.text);
  if (pattern.ok()) {
    expression.pattern = *std::move(pattern);
  } else {
    row.Fault(field, pattern.status().message());
  }
  return expression;
}

std::map<std::string, double> ReadWords(RuleRow& row) {
  std::map<std::string, double> words;
  if (const Json& given = row.Take("words"); !given.is_null() && !given.is_object()) {
    row.Fault("words", "is not a mapping of texts to numbers like {live: 0, dead: 1}");
    return words;
  }
  for (const auto& [word, text] : row.Labels("words")) {
    const std::optional<double> number = NumberOf(Sign{.value = text});
    if (!number) row.Fault("words", fmt::format("'{}' of '{}' is not a number", text, word));
    words[word] = number.value_or(0);
  }
  return words;
}

KernelSource ReadKernelSource(RuleRow& row) {
  KernelSource source{.driver = row.Text("driver", true)};
  if (!row.Take("subsystem").is_null()) {
    source.subsystem = row.Choice<std::string>("subsystem", {{"pci", "pci"}, {"nvme", "nvme"}});
  }
  source.line = ReadExpression(row, "line").value_or(Expression());
  return source;
}

FileSource ReadFileSource(RuleRow& row, SignKind kind) {
  return {.path = row.Text("file"),
          .row = row.Text("row"),
          .scale = ReadScale(row),
          .expected = row.Text("expected"),
          .several = ReadSeveral(row, kind),
          .every = row.Span("every"),
          .capture = ReadExpression(row, "capture"),
          .words = ReadWords(row)};
}

CommandSource ReadCommandSource(RuleRow& row) {
  CommandSource source{.command = row.Texts("command")};
  if (!row.Take("output").is_null()) {
    source.json = row.Choice<bool>("output", {{"line", false}, {"json", true}});
  }
  if (!row.Take("every").is_null()) source.every = row.Span("every");
  // A check that runs each second need not set a timeout as short as that.
  source.timeout = std::min(source.timeout, source.every);
  if (!row.Take("timeout").is_null()) source.timeout = row.Span("timeout");
  if (!row.Take("cpu").is_null()) source.cpu = row.Span("cpu");
  return source;
}

// Refuses fields of another source than the row's: they would do nothing.
void RefuseWithout(RuleRow& row, std::initializer_list<std::string_view> sources,
                   std::initializer_list<const char*> fields) {
  const bool misspelt =
      std::ranges::any_of(sources, [&row](std::string_view each) { return row.Misspells(each); });
  for (const char* field : fields) {
    if (row.Take(field).is_null() || misspelt) continue;
    row.Fault(field, fmt::format("needs a `{}` that it is about", fmt::join(sources, "` or `")));
  }
}

MetricSource ReadMetricSource(RuleRow& row) {
  return {.exporter = row.Text("exporter"),
          .name = row.Text("metric"),
          .labels = row.Labels("labels"),
          .optional = row.Switch("optional")};
}

void ReadSource(RuleRow& row, SignSpec& sign) {
  const bool file = !row.Take("file").is_null(), command = !row.Take("command").is_null(),
             metric = !row.Take("exporter").is_null(), kernel = !row.Take("line").is_null();
  if (file + command + metric + kernel > 1) {
    row.Fault(kernel    ? "line"
              : command ? "command"
                        : "exporter",
              "stands beside another source: a sign has one");
  }
  if (file) {
    sign.file = ReadFileSource(row, sign.kind);
  } else {
    RefuseWithout(row, {"file"}, {"row", "capture", "words", "scale", "expected", "several"});
  }
  if (command) {
    sign.command = ReadCommandSource(row);
  } else {
    RefuseWithout(row, {"command"}, {"output", "timeout", "cpu"});
  }
  if (metric) {
    sign.metric = ReadMetricSource(row);
  } else {
    RefuseWithout(row, {"exporter"}, {"metric", "labels", "optional"});
  }
  if (kernel) {
    sign.kernel = ReadKernelSource(row);
  } else {
    RefuseWithout(row, {"line"}, {"driver", "subsystem"});
  }
  if (!file && !command) RefuseWithout(row, {"file", "command"}, {"every"});
}

// The only values that such a source can give, where the row does not say itself what is possible.
std::vector<std::string> ImpliedValues(const SignSpec& sign) {
  const bool bounded = sign.least || sign.most || sign.whole;
  if (bounded || sign.kind != SignKind::kReading) return {};
  const bool present = !sign.has_source() && sign.name == "present";
  if (present || (sign.command && !sign.command->json)) return {"0", "1"};
  if (!sign.file || sign.file->scale != 1 || sign.file->several == Several::kSum) return {};
  std::set<double> numbers;  // several words may mean one
  for (const auto& [word, number] : sign.file->words) numbers.insert(number);
  std::vector<std::string> texts;
  std::ranges::transform(numbers, std::back_inserter(texts), NumberText);
  return texts;
}

}  // namespace

SignSpec ReadSign(RuleRow row, RuleFaults& faults) {
  SignSpec sign{
      .name = row.Text("name", true),
      .kind = row.Choice<SignKind>("kind", {{"reading", SignKind::kReading},
                                            {"counter", SignKind::kCounter},
                                            {"event", SignKind::kEvent}}),
      .unit = row.Text("unit"),
      .help = row.Text("help"),
      .usual = row.Text("usual"),
      .among = row.Texts("among"),
      .least = row.Number("least"),
      .most = row.Number("most"),
      .whole = row.Switch("whole"),
  };
  ReadSource(row, sign);
  if (sign.among.empty()) sign.among = ImpliedValues(sign);
  row.RefuseUnknownFields();
  CheckSource(sign, faults);
  return sign;
}

ExporterSpec ReadExporter(RuleRow row, RuleFaults& faults) {
  ExporterSpec exporter{.name = row.Text("name", true),
                        .url = row.Text("url", true),
                        .remote = row.Switch("remote"),
                        .labels = row.Labels("labels")};
  if (!row.Take("every").is_null()) exporter.every = row.Span("every");
  exporter.timeout = std::min(exporter.timeout, exporter.every);
  exporter.patience = std::max(exporter.patience, 2 * exporter.every);
  if (!row.Take("timeout").is_null()) exporter.timeout = row.Span("timeout");
  if (!row.Take("patience").is_null()) exporter.patience = row.Span("patience");
  row.RefuseUnknownFields();
  CheckExporter(exporter, faults);
  return exporter;
}

}  // namespace galen::probes
