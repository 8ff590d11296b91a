#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/data/yaml.h"
#include "cli/commands/get.h"
#include "cli/inspect/agent_link.h"
#include "cli/inspect/inspect_values.h"
#include "cli/output/tone.h"
#include "protos/galen/checks/v1/checks.pb.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;
namespace proto = galen::checks::v1;

constexpr std::string_view kNone =
    "no checks: no driver of this node has a table with commands (--rules, --run-commands)\n";

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::string SecondsText(Duration time) { return fmt::format("{:.3g}s", Seconds(time)); }

Table::Cell ResultCell(const ListedCheck& check) {
  if (check.result.empty()) return {"", Tone::kFaint};
  if (check.result == "ok") return {check.result, Tone::kGood};
  return {check.result, check.result == "problem" ? Tone::kBad : Tone::kFaint};
}

// "10s", or "40s (of 10s)" while it runs less often because it costs too much.
std::string EveryText(const ListedCheck& check) {
  if (check.interval == check.every) return FormatAge(check.every);
  return fmt::format("{} (of {})", FormatAge(check.interval), FormatAge(check.every));
}

// Adds this driver's checks; problems go to the notes.
void AddChecksOf(EpollLoop& loop, net::Dialer& dialer, const wire::Driver& driver,
                 std::vector<ListedCheck>& checks, std::vector<std::string>& notes) {
  const auto link = AgentLink::Open(loop, dialer, driver.endpoint());
  const auto answer = link.ok()
                          ? (*link)->Ask<proto::ListChecksResponse>(
                                "/galen.checks.v1.Checks/ListChecks", proto::ListChecksRequest())
                          : StatusOr<proto::ListChecksResponse>(link.status());
  // Another vendor's driver, or one of Galen's without checks and rules of its own.
  if (answer.status().code() == Code::kUnimplemented) return;
  if (!answer.ok()) {
    notes.push_back(fmt::format("driver {} does not list its checks: {}", driver.name(),
                                answer.status().message()));
    return;
  }
  for (const proto::Check& check : answer->checks()) {
    checks.push_back(FromProto(driver.name(), check));
  }
  for (const std::string& trouble : answer->troubles()) {
    notes.push_back(fmt::format("driver {}: {}", driver.name(), trouble));
  }
}

StatusOr<std::string> ShowChecks(const std::vector<ListedCheck>& checks,
                                 const std::vector<std::string>& troubles, const Options& options,
                                 WallTime now) {
  if (options.output == "json") return ChecksJson(checks, troubles).DumpPretty(2) + "\n";
  if (options.output == "yaml") return WriteYaml(ChecksJson(checks, troubles));
  if (checks.empty()) return std::string(kNone);
  return ChecksTable(checks, options.wide(), now).Text(options.colour);
}

}  // namespace

ListedCheck FromProto(const std::string& driver, const proto::Check& check) {
  using std::chrono::milliseconds;
  ListedCheck listed{.driver = driver, .name = check.name(), .device = check.device()};
  listed.state = check.state();
  listed.result = check.result();
  listed.says = check.says();
  listed.every = milliseconds(check.every_millis());
  listed.interval = milliseconds(check.interval_millis());
  if (check.last_run_unix_nanos() != 0) listed.last_run = FromNanos(check.last_run_unix_nanos());
  listed.took = milliseconds(check.last_run_millis());
  listed.cpu = milliseconds(check.last_run_cpu_millis());
  listed.cpu_of_all = milliseconds(check.cpu_millis());
  listed.runs = check.runs();
  return listed;
}

Table ChecksTable(const std::vector<ListedCheck>& checks, bool wide, WallTime now) {
  std::vector<std::string> header = {"CHECK", "DEVICE", "RESULT", "STATE", "EVERY",
                                     "LAST",  "TOOK",   "CPU",    "SAYS"};
  if (wide) header.insert(header.end() - 1, {"RUNS", "CPU OF ALL", "DRIVER"});
  Table table(std::move(header), 2);
  for (const ListedCheck& check : checks) {
    const bool ran = check.last_run.has_value();
    const Table::Cell state(check.state, check.state == "hanging" ? Tone::kBad : Tone::kPlain);
    std::vector<Table::Cell> row = {check.name,
                                    check.device,
                                    ResultCell(check),
                                    state,
                                    EveryText(check),
                                    AgeText(check.last_run, now),
                                    ran ? SecondsText(check.took) : "",
                                    ran ? SecondsText(check.cpu) : ""};
    if (wide) {
      row.emplace_back(fmt::format("{}", check.runs));
      row.emplace_back(SecondsText(check.cpu_of_all));
      row.emplace_back(check.driver);
    }
    row.emplace_back(check.says);
    table.Add(std::move(row), check.name + " " + check.device);
  }
  return table;
}

Json ChecksJson(const std::vector<ListedCheck>& checks, const std::vector<std::string>& troubles) {
  Json::Array items;
  for (const ListedCheck& check : checks) {
    Json item = Json::MakeObject({{"driver", check.driver},
                                  {"check", check.name},
                                  {"device", check.device},
                                  {"state", check.state},
                                  {"says", check.says},
                                  {"everySeconds", Seconds(check.every)},
                                  {"intervalSeconds", Seconds(check.interval)},
                                  {"runs", static_cast<std::int64_t>(check.runs)},
                                  {"cpuSecondsOfAll", Seconds(check.cpu_of_all)}});
    if (!check.result.empty()) item["result"] = check.result;
    if (check.last_run) {
      item["lastRun"] = FormatRfc3339(*check.last_run, 3);
      item["tookSeconds"] = Seconds(check.took);
      item["cpuSeconds"] = Seconds(check.cpu);
    }
    items.push_back(std::move(item));
  }
  Json::Array said(troubles.begin(), troubles.end());
  return Json::MakeObject({{"items", std::move(items)}, {"troubles", std::move(said)}});
}

StatusOr<Answer> GetChecks(const Options& options, const std::string& name) {
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  const auto dialer = net::MakeDialer(*loop);
  ASSIGN_OR_RETURN(auto agent, AgentLink::OpenAgent(*loop, *dialer, options.agent_socket));
  ASSIGN_OR_RETURN(const auto known,
                   agent->Ask<wire::ListDriversResponse>("/galen.inspect.v1.Inspect/ListDrivers",
                                                         wire::ListDriversRequest()));
  std::vector<ListedCheck> checks;
  Answer answer;
  for (const auto* drivers : {&known.drivers(), &known.health_sources()}) {
    for (const wire::Driver& driver : *drivers) {
      // A second instance, during an update, does not count.
      if (!driver.authority()) continue;
      AddChecksOf(*loop, *dialer, driver, checks, answer.notes);
    }
  }
  if (!name.empty()) {
    std::erase_if(checks, [&](const ListedCheck& check) { return check.name != name; });
    if (checks.empty() && answer.notes.empty()) {
      return NotFound("no check is called {}: `galen get checks` lists those of this node", name);
    }
  }
  ASSIGN_OR_RETURN(answer.text, ShowChecks(checks, answer.notes, options, loop->WallNow()));
  return answer;
}

}  // namespace galen::cli
