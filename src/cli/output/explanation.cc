#include "cli/output/explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/output/table.h"
#include "cli/output/terminal.h"
#include "cli/output/tone.h"
#include "model/plugin_resource.h"

namespace galen::cli {
namespace {

// "2026-11-21", in UTC.
std::string Day(WallTime time) { return FormatRfc3339(time, 0).substr(0, 10); }

// "14:02:11" or "14:02:11.304", in UTC.
std::string Clock(WallTime time, int digits) {
  const std::string text = FormatRfc3339(time, digits);
  return text.substr(11, text.size() - 12);
}

std::string Count(std::size_t devices, bool awaited) {
  const std::string known = devices == 0   ? "no devices"
                            : devices == 1 ? "one device"
                                           : fmt::format("{} devices", devices);
  if (!awaited) return known;
  const std::string_view plugins = "devices of a device plugin that are not known yet";
  return devices == 0 ? std::string(plugins) : fmt::format("{}, and {}", known, plugins);
}

std::string StateLine(const DeviceHealth& health, WallTime now, bool colour) {
  std::string line = Paint(StateText(health), ToneOf(health.state), colour);
  if (health.since != WallTime{}) {
    const std::string day = Day(health.since) == Day(now) ? "" : Day(health.since) + " ";
    line += fmt::format(" since {}{} ({} ago)", day, Clock(health.since, 0),
                        FormatAge(now - health.since));
  }
  if (!health.cause.message.empty()) line += ": " + Printable(health.cause.message);
  return line;
}

std::string IdentityLine(const ExplainedDevice& device) {
  std::string line;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    line += fmt::format("{}{}{}", line.empty() ? "" : ", ", name, Printable(value));
  };
  add("", device.identity.model);
  add("serial ", device.identity.serial);
  const DeviceId& id = device.identity.id;
  if (IsPluginResource(id.driver)) {
    // Its pool is the node, which is shown above.
    add("resource ", id.driver);
    return line;
  }
  add("pool ", id.pool);
  add("driver ", id.driver);
  add("claim ", device.claim);
  return line;
}

// `head` and `body`, with `body` wrapped below its beginning when `columns` is not 0.
std::string Paragraph(const std::string& head, const std::string& body, std::size_t columns) {
  const std::size_t indent = Width(head);
  // With less room for the body, wrapping makes no sense.
  constexpr std::size_t kBodyColumnsMin = 20;
  if (columns < indent + kBodyColumnsMin) return head + body + "\n";
  const std::string margin(indent, ' ');
  std::string text;
  for (const std::string& line : WrapText(body, columns - indent, "")) {
    text += (text.empty() ? head : margin) + line + "\n";
  }
  return text;
}

// A step as it is shown.
struct StepLine {
  std::string day, time, kind, device, text, source, message;
};

struct StepWidths {
  std::size_t kind = 9, device = 0, text = 0, source = 0;
  // With two columns between each, a margin and a time of 12.
  std::size_t Line() const { return Head() + text + 2 + source; }
  std::size_t Head() const { return 2 + 12 + 2 + kind + 2 + (device == 0 ? 0 : device + 2); }
};

StepWidths WidthsOf(const std::vector<StepLine>& lines) {
  StepWidths widths;
  for (const StepLine& line : lines) {
    widths.kind = std::max(widths.kind, Width(line.kind));
    widths.device = std::max(widths.device, Width(line.device));
    widths.text = std::max(widths.text, Width(line.text));
    widths.source = std::max(widths.source, Width(line.source));
  }
  return widths;
}

// The devices' short names: their names alone, unless two have the same.
std::map<std::string, std::string> NamesOf(const std::vector<ExplainedDevice>& devices) {
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  bool ambiguous = false;
  for (const ExplainedDevice& device : devices) {
    const DeviceId& id = device.identity.id;
    if (!names.emplace(ToString(id), id.device).second) continue;
    ambiguous = !taken.insert(id.device).second || ambiguous;
  }
  for (auto& [id, name] : names) name = Printable(ambiguous ? id : name);
  return names;
}

// Sentences that are shown above the steps already, or are a step: why a driver was lost.
std::set<std::string> Said(const Explanation& explanation) {
  std::set<std::string> said = {""};
  for (const ExplainedDevice& device : explanation.devices) {
    said.insert(device.health.cause.message);
  }
  for (const ExplainedStep& step : explanation.steps) said.insert(step.text);
  return said;
}

std::vector<StepLine> LinesOf(const Explanation& explanation) {
  const std::map<std::string, std::string> names = NamesOf(explanation.devices);
  const std::set<std::string> said = Said(explanation);
  std::vector<StepLine> lines;
  for (const ExplainedStep& step : explanation.steps) {
    const auto name = names.find(step.device);
    lines.push_back({.day = Day(step.time),
                     .time = Clock(step.time, step.to_the_second ? 0 : 3),
                     .kind = Printable(step.kind),
                     .device = names.size() > 1 && name != names.end() ? name->second : "",
                     .text = Printable(step.text),
                     .source = Printable(step.source),
                     .message = said.contains(step.message) ? "" : Printable(step.message)});
  }
  return lines;
}

std::string Padded(const std::string& text, std::size_t width) {
  // Padded here: fmt counts the width differently from a terminal.
  return text + std::string(width - std::min(Width(text), width), ' ');
}

// The layout of the steps: in columns where they fit, else with the text wrapped in its column,
// else text and source in sequence, wrapped.
struct StepLayout {
  StepWidths widths;
  std::size_t columns = 0;  // to wrap at; 0: not at all
  bool flows = false;       // the source has no column
};

// A narrower column of text would be unreadable.
constexpr std::size_t kTextColumnsMin = 36;

// Fits `lines` to the columns; numbers of reports are dropped first.
StepLayout LayoutOf(std::vector<StepLine>& lines, std::size_t columns) {
  StepLayout layout{.widths = WidthsOf(lines), .columns = columns};
  if (columns == 0 || layout.widths.Line() <= columns) return layout;
  for (StepLine& line : lines) line.source = line.source.substr(0, line.source.find(','));
  layout.widths = WidthsOf(lines);
  StepWidths& widths = layout.widths;
  if (widths.Line() <= columns) return layout;
  const std::size_t others = widths.Line() - widths.text;
  layout.flows = columns < others + kTextColumnsMin;
  if (!layout.flows) widths.text = columns - others;
  // A long kind shifts only its own line, not all of them.
  if (layout.flows && columns < widths.Head() + kTextColumnsMin) widths.kind = StepWidths().kind;
  return layout;
}

std::string DrawStep(const StepLine& line, const StepLayout& layout, bool colour) {
  const StepWidths& widths = layout.widths;
  std::string head = fmt::format("  {:<12}  {}  ", line.time, Padded(line.kind, widths.kind));
  if (widths.device > 0) head += Padded(line.device, widths.device) + "  ";
  const std::string source = Paint(line.source, Tone::kFaint, colour);
  if (layout.flows) return Paragraph(head, line.text + "  " + source, layout.columns);
  const std::string margin(widths.Head(), ' ');
  std::string text;
  // Without wrapping, as wide as the widest text.
  for (const std::string& part : WrapText(line.text, std::max<std::size_t>(1, widths.text), "")) {
    text += text.empty() ? head + Padded(part, widths.text) + "  " + source : margin + part;
    text += "\n";
  }
  return text;
}

std::string StepLines(const Explanation& explanation, WallTime now, const DrawOptions& options) {
  std::vector<StepLine> lines = LinesOf(explanation);
  const StepLayout layout = LayoutOf(lines, options.columns);
  std::string text, day = Day(now);
  for (const StepLine& line : lines) {
    if (line.day != day) text += fmt::format("  {}\n", day = line.day);
    text += DrawStep(line, layout, options.colour);
    if (line.message.empty()) continue;
    text += Paragraph(std::string(layout.widths.Head(), ' '), line.message, options.columns);
  }
  return text;
}

// "trainer-0 runs on node-7 and holds one device; it was asked to go 40s ago."
std::string LifeLine(const Explanation& explanation, WallTime now) {
  const bool ended = explanation.phase == "Failed" || explanation.phase == "Succeeded";
  const bool over = explanation.gone || ended;
  std::string line = fmt::format(
      "{} {} {} and {} {}", Printable(explanation.pod.name), over ? "ran on" : "runs on",
      explanation.node.empty() ? "no node yet" : Printable(explanation.node),
      over ? "held" : "holds", Count(explanation.devices.size(), explanation.devices_awaited));
  if (ended)
    line += "; it has " + std::string(explanation.phase == "Failed" ? "failed" : "succeeded");
  if (explanation.asked_to_go) {
    line += fmt::format("; it was asked to go {} ago", FormatAge(now - *explanation.asked_to_go));
  }
  return line + ".\n";
}

// The label is below the times, the text below the kinds of steps.
std::string VerdictLine(const Explanation& explanation, std::size_t columns) {
  if (!explanation.verdict) return "";
  return Paragraph(fmt::format("  {:<12}  ", "verdict"), Printable(Summary(*explanation.verdict)),
                   columns);
}

}  // namespace

std::string Draw(const Explanation& explanation, WallTime now, DrawOptions options) {
  std::string text = LifeLine(explanation, now);
  // The usual width of names, so that pictures of different Pods look alike.
  std::size_t name_width = 6;
  for (const ExplainedDevice& device : explanation.devices) {
    name_width = std::max(name_width, Width(device.identity.id.device));
  }
  for (const ExplainedDevice& device : explanation.devices) {
    text += Paragraph(fmt::format("  {:<{}}  ", Printable(device.identity.id.device), name_width),
                      StateLine(device.health, now, options.colour), options.columns);
    text +=
        Paragraph(fmt::format("  {:<{}}  ", "", name_width), IdentityLine(device), options.columns);
  }
  text += StepLines(explanation, now, options);
  text += VerdictLine(explanation, options.columns);
  for (const std::string& line : SplitLines(explanation.note)) {
    text += Paragraph("", Printable(line), options.columns);
  }
  return text;
}

}  // namespace galen::cli
