// Tested by rule_schema_test.cc, beside the schema that is made of it.
#include "probes/rule_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace galen::probes {
namespace {

using enum FieldType;

constexpr Field kExporterFields[] = {
    {"name", kText, "of the exporter, for signs to name", true},
    {"url", kText, "http://127.0.0.1:9400/metrics, or unix:/run/x.sock", true},
    {"remote", kSwitch, "may be on another machine"},
    {"labels", kLabels, "labels of a device's series, with placeholders of the device"},
    {"every", kTime, "how often the page is asked for, 1s to 1h; 15s unless said"},
    {"timeout", kTime, "what an answer may take; 5s unless said"},
    {"patience", kTime, "for so long the last value holds; 1m unless said"},
};

constexpr Field kSignFields[] = {
    {"name", kText, "as the driver says it", true},
    {"kind", kText, "present value, what only grows, or what happened once", true,
     "reading counter event"},
    {"unit", kText, "of the value, for people"},
    {"help", kText, "one line for people"},
    {"usual", kText, "the value on a device that is well"},
    {"among", kTexts, "all that it can be"},
    {"least", kNumber, "no value is below"},
    {"most", kNumber, "no value is above"},
    {"whole", kSwitch, "written in plain digits"},
    {"file", kText, "path below the device's directory, with at most one * a name"},
    {"row", kText, "of a file with a line for each number: what the line begins with"},
    {"capture", kText, "regular expression (RE2) whose one group is the number"},
    {"words", kLabels, "texts that a file may hold, and the number that each is"},
    {"scale", kText, "from the number to the unit: \"/ 1000\" or \"* 8\""},
    {"expected", kText, "a file with what the value is held against"},
    {"several", kText, "which of several files counts", false, "first highest lowest sum"},
    {"every", kTime, "read at most so often"},
    {"command", kTexts, "program with its whole path, and arguments"},
    {"output", kText, "what the command prints", false, "line json"},
    {"timeout", kTime, "of the command; 5s unless said"},
    {"cpu", kTime, "of the command's processor time; 2s unless said"},
    {"exporter", kText, "which exporter has the metric"},
    {"metric", kText, "its name, as the exporter's page has it"},
    {"labels", kLabels, "more labels that the series must have"},
    {"optional", kSwitch, "an exporter that does not show it has no such sign"},
    {"driver", kText, "of a line of the kernel's log: the driver that wrote it"},
    {"subsystem", kText, "of such a line: the subsystem of the device that it is about", false,
     "pci nvme"},
    {"line", kText, "regular expression (RE2) for the begin of what the driver wrote"},
};

constexpr Field kRuleFields[] = {
    {"id", kText, "of the rule, once in the file", true},
    {"sign", kText, "which sign it looks at", true},
    {"when", kText,
     "\"> 85\", \"> 85 °C\" with a blank and the sign's unit, \"== down\", \"< expected\", \"< "
     "baseline\", \"< 90 % of peers\", \"in 13, "
     "31-33\", "
     "\"rises > 10 in 60s\", \"any of 0x60\", \"all of 0x3\", \"none of 0x1\", \"other\"",
     true},
    {"while", kText,
     "begins only while another sign says so: \"utilization > 20\", \"utilization > 20 %\""},
    {"state", kText, "what it means", true, "Healthy Unknown Degraded Unhealthy"},
    {"share", kShare, "what is left of a Degraded device"},
    {"code", kText, "reason in CamelCase", true},
    {"sentence", kText,
     "what a Pod says, with {value} {threshold} {expected} {unit} {share} {text}", true},
    {"text", kText, "what {text} stands for"},
    {"unit", kText, "what {unit} stands for"},
    {"owner", kText, "who is to look at it", true, "Hardware Driver Application Platform"},
    {"because", kText, "of a Healthy rule: why it changes nothing"},
    {"enter_for", kTime, "matches without a break for so long before it counts"},
    {"count", kCount, "and so many times"},
    {"window", kTime, "of events: within so long"},
    {"same_detail", kSwitch,
     "of events: only those with the same {detail}, a minute apart, count together"},
    {"leave", kText, "the threshold that ends it: 82, \"82 °C\", of peers \"95 % of peers\""},
    {"leave_for", kTime, "no longer matches for so long before it ends"},
    {"until", kText, "clear, reset, reboot or a time such as 10m"},
    {"clears", kTexts, "rules that this event ends, by id, or reset or reboot"},
    {"supersedes", kTexts, "rules that do not count while this one holds, by id"},
};

}  // namespace

std::span<const Field> FieldsOf(RowKind kind) {
  switch (kind) {
    case RowKind::kExporter:
      return kExporterFields;
    case RowKind::kSign:
      return kSignFields;
    case RowKind::kRule:
      return kRuleFields;
  }
  GALEN_UNREACHABLE();
}

const Field* FindField(RowKind kind, std::string_view name) {
  const std::span<const Field> fields = FieldsOf(kind);
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

std::string NearField(RowKind kind, std::string_view name) {
  const auto near = std::ranges::find_if(
      FieldsOf(kind), [name](const Field& field) { return IsNear(name, field.name); });
  return near == FieldsOf(kind).end() ? "" : fmt::format("; is it `{}`?", near->name);
}

}  // namespace galen::probes
