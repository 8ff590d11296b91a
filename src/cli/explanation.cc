#include "cli/explanation.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
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

}  // namespace

std::string Draw(const Explanation& explanation, WallTime now, bool colour) {
  std::string text = fmt::format("{} runs on {} and holds {}.\n", explanation.pod.name,
                                 explanation.node.empty() ? "no node yet" : explanation.node,
                                 Count(explanation.devices.size()));
  // As wide as most names are, so that the picture of one device looks like the others.
  std::size_t name_width = 6;
  for (const ExplainedDevice& device : explanation.devices) {
    name_width = std::max(name_width, Width(device.identity.id.device));
  }
  for (const ExplainedDevice& device : explanation.devices) {
    text += fmt::format("  {:<{}}  {}\n", Printable(device.identity.id.device), name_width,
                        StateLine(device.health, now, colour));
    text += fmt::format("  {:<{}}  {}\n", "", name_width, IdentityLine(device));
  }
  std::size_t text_width = 0;
  for (const ExplainedStep& step : explanation.steps) {
    text_width = std::max(text_width, Width(Printable(step.text)));
  }
  for (const ExplainedStep& step : explanation.steps) {
    const std::string told = Printable(step.text);
    // Padded by hand: the width of fmt counts other characters than a terminal does.
    text += fmt::format("  {}  {:<8} {}{}  {}\n", Clock(step.time, 3), step.kind, told,
                        std::string(text_width - Width(told), ' '),
                        Paint(Printable(step.source), Tone::kFaint, colour));
  }
  if (!explanation.note.empty()) text += explanation.note + "\n";
  return text;
}

}  // namespace galen::cli
