// Tested by rule_reader_test.cc, whose files have each fault of a row that says where to read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "probes/exporter_address.h"
#include "probes/placeholders.h"
#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

// A path has to stay below the device's directory.
void CheckPattern(std::string_view field, std::string_view path, RuleFaults& faults) {
  constexpr std::size_t kPathBytesMax = 200;  // the longest in the kernel's own lists is below 80
  if (path.empty() || path.front() == '/' || path.size() > kPathBytesMax) {
    return faults.Add(field, "is not a path below the device's directory like hwmon/hwmon*/name");
  }
  if (path == kNvmeSmartFile) return;
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
    if (segment.empty() || segment == "." || segment == "..") {
      faults.Add(field, fmt::format("has the segment '{}'", segment));
    }
    if (segment.starts_with('@')) {
      faults.Add(field,
                 fmt::format("has '{}', but only {} begins with '@'", segment, kNvmeSmartFile));
    }
    if (std::ranges::count(segment, '*') > 1) {
      faults.Add(field, fmt::format("has more than one '*' in '{}'", segment));
    }
  }
}

void CheckFileSource(const SignSpec& sign, RuleFaults& faults) {
  if (sign.kind == SignKind::kEvent)
    faults.Add("file", "is read again and again, so the sign cannot be an event");
  if (sign.file->every > kFileEveryMost) faults.Add("every", "is past 1h");
  if (sign.file->capture) {
    if (!sign.file->row.empty())
      faults.Add("capture", "and row both say where the number is: keep one of them");
    const std::optional<Pattern>& pattern = sign.file->capture->pattern;
    if (pattern && pattern->groups() != 1) {
      faults.Add("capture", "needs exactly one group (...), the number; write others as (?:...)");
    }
  }
  CheckPattern("file", sign.file->path, faults);
  if (sign.file->expected.empty()) return;
  CheckPattern("expected", sign.file->expected, faults);
  if (std::ranges::count(sign.file->expected, '*') > std::ranges::count(sign.file->path, '*')) {
    faults.Add("expected", "has a '*' that `file` does not have");
  }
}

// Braces are placeholders, so that a misspelled one does not reach a program or a label.
void CheckPlaceholders(std::string_view field, std::string_view text, RuleFaults& faults) {
  const std::string wrong = WrongPlaceholder(text);
  if (wrong.empty()) return;
  faults.Add(field, fmt::format("knows no placeholder '{}': {{{}}}", Shown(wrong, 80),
                                fmt::join(kPlaceholders, "}, {")));
}

void CheckCommandTimes(const CommandSource& source, RuleFaults& faults) {
  if (source.every < kCommandEveryLeast || source.every > kCommandEveryMost) {
    faults.Add("every", "is not from 1s to 24h");
  }
  if (source.timeout < kCommandTimeoutLeast || source.timeout > source.every) {
    faults.Add("timeout", "is not from 100ms to `every`, so that runs do not meet");
  }
  if (source.cpu < std::chrono::seconds(1) || source.cpu > kCommandCpuMost ||
      source.cpu % std::chrono::seconds(1) != Duration::zero()) {
    faults.Add("cpu", "is not whole seconds from 1s to 1m");
  }
}

void CheckCommandSource(const SignSpec& sign, RuleFaults& faults) {
  const CommandSource& source = *sign.command;
  if (sign.kind == SignKind::kEvent)
    faults.Add("command", "is run again and again, so the sign cannot be an event");
  if (sign.kind == SignKind::kCounter && !source.json) {
    faults.Add("command", "gives 0 or 1, which is not a counter, unless `output` is json");
  }
  // No PATH is searched: the program that runs is the one that is written here.
  if (source.command.empty() || !source.command.front().starts_with('/')) {
    faults.Add("command", "begins with no program's whole path like [/opt/checks/fan.sh, {pci}]");
  }
  if (!source.command.empty() && source.command.front().find('{') != std::string::npos) {
    faults.Add("command", "has a placeholder in the program's path");
  }
  if (source.command.size() > kCommandWordsMax) faults.Add("command", "has more than 32 words");
  for (const std::string& word : source.command) {
    if (word.size() > kCommandWordBytesMax || word.find('\0') != std::string::npos) {
      faults.Add("command", "has a word past 1024 bytes or with a zero byte");
    }
    CheckPlaceholders("command", word, faults);
  }
  CheckCommandTimes(source, faults);
}

void CheckLabels(const std::map<std::string, std::string>& labels, RuleFaults& faults) {
  for (const auto& [name, text] : labels) CheckPlaceholders("labels", text, faults);
}

void CheckKernelSource(const SignSpec& sign, RuleFaults& faults) {
  if (sign.kind != SignKind::kEvent)
    faults.Add("line", "is written once, so the sign must be an event");
  const std::string& driver = sign.kernel->driver;
  if (driver.empty() || driver.find_first_of(" :") != std::string::npos) {
    faults.Add("driver", "is not a name of a driver like mlx5_core");
  }
  const std::optional<Pattern>& pattern = sign.kernel->line.pattern;
  if (pattern && pattern->groups() > 1) {
    faults.Add("line", "has more than one group: (...) is the number, write others as (?:...)");
  }
}

}  // namespace

void CheckSource(const SignSpec& sign, RuleFaults& faults) {
  if (sign.kernel) CheckKernelSource(sign, faults);
  if (sign.file) CheckFileSource(sign, faults);
  if (sign.command) CheckCommandSource(sign, faults);
  if (!sign.metric) return;
  if (sign.metric->name.empty()) faults.Add("metric", "is missing: which metric of the exporter");
  if (sign.metric->name.find_first_of(" \t{}\"=,") != std::string::npos) {
    faults.Add("metric", "is no name of a metric; what stands in its braces goes into `labels`");
  }
  CheckLabels(sign.metric->labels, faults);
}

void CheckExporter(const ExporterSpec& exporter, RuleFaults& faults) {
  if (!IsDnsLabel(exporter.name)) faults.Add("name", "is not lower-case letters, digits and '-'");
  const StatusOr<ExporterAddress> address = ParseExporterAddress(exporter.url);
  if (!address.ok()) faults.Add("url", address.status().message());
  if (address.ok() && !address->is_local() && !exporter.remote) {
    faults.Add("url", "is on another machine, whose word counts only with `remote: true`");
  }
  CheckLabels(exporter.labels, faults);
  if (exporter.every < kCommandEveryLeast || exporter.every > kFileEveryMost) {
    faults.Add("every", "is not from 1s to 1h");
  }
  if (exporter.timeout < kCommandTimeoutLeast || exporter.timeout > exporter.every) {
    faults.Add("timeout", "is not from 100ms to `every`");
  }
  if (exporter.patience < exporter.every * 2 || exporter.patience > kExporterPatienceMost) {
    faults.Add("patience", "is not from twice `every` to 24h: one page that is missed is no news");
  }
}

}  // namespace galen::probes
