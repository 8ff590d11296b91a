#include "cli/explanation.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/tone.h"

namespace galen::cli {
namespace {

// "14:02:11" or "14:02:11.304", in UTC: the day is known from "38 s ago".
std::string Clock(WallTime time, int digits) {
  const std::string text = FormatRfc3339(time, digits);
  return text.substr(11, text.size() - 12);
}

std::string Count(std::size_t devices) {
  if (devices == 0) return "no devices";
  if (devices == 1) return "one device";
  return fmt::format("{} devices", devices);
}

std::string StateLine(const DeviceHealth& health, WallTime now, bool colour) {
  std::string line = Paint(StateText(health), ToneOf(health.state), colour);
  if (health.since != WallTime{}) {
    line +=
        fmt::format(" since {} ({} ago)", Clock(health.since, 0), FormatAge(now - health.since));
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
  add("pool ", device.identity.id.pool);
  add("driver ", device.identity.id.driver);
  add("claim ", device.claim);
  return line;
}

// `head` and `body`, wrapped under its beginning when `columns` is not 0.
std::string Paragraph(const std::string& head, const std::string& body, std::size_t columns) {
  const std::size_t indent = Width(head);
  // Less than this for the body would be no line any more.
  constexpr std::size_t kBodyColumnsMin = 20;
  if (columns < indent + kBodyColumnsMin) return head + body + "\n";
  const std::string margin(indent, ' ');
  std::string text;
  for (const std::string& line : WrapText(body, columns - indent, "")) {
    text += (text.empty() ? head : margin) + line + "\n";
  }
  return text;
}

struct StepWidths {
  std::size_t kind = 6, text = 0, source = 0;
  // With two columns between each, a margin and a time of 12.
  std::size_t Line() const { return 2 + 12 + 2 + kind + 2 + text + 2 + source; }
};

StepWidths WidthsOf(const std::vector<ExplainedStep>& steps) {
  StepWidths widths;
  for (const ExplainedStep& step : steps) {
    widths.kind = std::max(widths.kind, Width(Printable(step.kind)));
    widths.text = std::max(widths.text, Width(Printable(step.text)));
    widths.source = std::max(widths.source, Width(Printable(step.source)));
  }
  return widths;
}

// In columns where they fit, else one behind the other, wrapped.
std::string StepLines(const std::vector<ExplainedStep>& steps, const DrawOptions& options) {
  const StepWidths widths = WidthsOf(steps);
  const bool narrow = options.columns != 0 && widths.Line() > options.columns;
  std::string lines;
  for (const ExplainedStep& step : steps) {
    const std::string told = Printable(step.text);
    std::string source = Printable(step.source);
    if (narrow) source = source.substr(0, source.find(','));
    const std::string head = fmt::format("  {}  {:<{}}  ", Clock(step.time, 3),
                                         Printable(step.kind), narrow ? 6 : widths.kind);
    // Padded by hand: the width of fmt counts other characters than a terminal does.
    const std::string padding(narrow ? 0 : widths.text - Width(told), ' ');
    const std::string body =
        fmt::format("{}{}  {}", told, padding, Paint(source, Tone::kFaint, options.colour));
    lines += Paragraph(head, body, narrow ? options.columns : 0);
  }
  return lines;
}

}  // namespace

std::string Draw(const Explanation& explanation, WallTime now, DrawOptions options) {
  std::string text = fmt::format("{} runs on {} and holds {}.\n", explanation.pod.name,
                                 explanation.node.empty() ? "no node yet" : explanation.node,
                                 Count(explanation.devices.size()));
  // As wide as most names are, so that the picture of one device looks like the others.
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
  text += StepLines(explanation.steps, options);
  if (!explanation.note.empty()) text += Paragraph("", explanation.note, options.columns);
  return text;
}

}  // namespace galen::cli
