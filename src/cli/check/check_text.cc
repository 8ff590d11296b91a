// Tested by check_command_test.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/check/check.h"

namespace galen::cli {
namespace {

// "68.2 GB", as vendors of memory count.
std::string BytesText(std::uint64_t bytes) {
  constexpr std::pair<std::uint64_t, std::string_view> kUnits[] = {
      {1'000'000'000, "GB"}, {1'000'000, "MB"}, {1'000, "kB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes >= unit) {
      return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit), name);
    }
  }
  return fmt::format("{} bytes", bytes);
}

std::string NamesOfChecked(const CheckReport& report) {
  std::string names;
  for (const CheckResult& device : report.devices) {
    names += (names.empty() ? "" : ", ") + device.device;
  }
  return names;
}

bool IsOfLinks(const CheckReport& report) { return report.devices.size() > 1; }

}  // namespace

std::string CheckText(const CheckReport& report, std::int64_t seconds, std::uint64_t seed) {
  const active::CheckOutcome& outcome = report.outcome;
  const std::string who =
      NamesOfChecked(report) + (IsOfLinks(report) ? ", links between them" : "");
  switch (outcome.verdict) {
    case CheckVerdict::kPassed:
      return fmt::format(
          "{}: passed: {} of {} {} in {} s, no bit wrong (seed {:#x})\n", who,
          Counted(static_cast<std::size_t>(outcome.rounds), "round"), BytesText(outcome.bytes),
          IsOfLinks(report) ? "between each two" : "of memory, and matrices", seconds, seed);
    case CheckVerdict::kFailed:
      return fmt::format("{}: failed: {} (seed {:#x})\n", who, outcome.message, seed);
    case CheckVerdict::kUnknown:
      return fmt::format("{}: unknown: {}{}\n", who, outcome.message,
                         outcome.code == "TimeOver"
                             ? fmt::format("; give it more than --seconds {}", seconds)
                             : "");
  }
  return "";
}

std::string CheckJson(const CheckReport& report, std::uint64_t seed) {
  Json json = Json::MakeObject({{"verdict", ToString(report.outcome.verdict)},
                                {"code", report.outcome.code},
                                {"message", report.outcome.message},
                                {"rounds", report.outcome.rounds},
                                {"bytes", report.outcome.bytes},
                                {"seed", fmt::format("{:#x}", seed)}});
  for (const CheckResult& device : report.devices) json["devices"].Append(ToJson(device));
  return json.DumpPretty() + "\n";
}

std::string CheckProgress(const std::vector<std::string>& devices,
                          const active::CheckWatch::View& view, Duration passed, Duration time) {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  std::string line =
      fmt::format("{}: {} s of {} s", fmt::join(devices, ", "),
                  std::min(duration_cast<seconds>(passed), duration_cast<seconds>(time)).count(),
                  duration_cast<seconds>(time).count());
  const std::string& doing = view.doing.empty() ? view.call : view.doing;
  if (!doing.empty()) line += ", " + doing;
  if (view.temperature) line += fmt::format(", {:g} °C", *view.temperature);
  return line;
}

}  // namespace galen::cli
