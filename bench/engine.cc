// Rules alone: readings of 64 healthy devices through the engine, as a probe's polls bring them.
#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "bench/allocations.h"
#include "bench/parts.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;
using probes::Instant;
using probes::Sign;

constexpr int kDevices = 64;
constexpr Duration kMeasuredFor = 3s;
constexpr Duration kPoll = 1s;  // of the simulated time that passes between two polls
// Until each window of a rule is full of samples: what a device costs once.
constexpr int kWarmUp = 5'000;
// The built-in table, and a rule of each form that it has none of.
constexpr std::string_view kRules = R"(
extends: gpu
rules:
- {id: slower-than-peers, sign: power, when: "< 20 % of peers", leave: 30, while: utilization > 99,
   state: Degraded, share: ratio, code: SlowerThanPeers, owner: Hardware, sentence: slow}
- {id: colder-than-peers, sign: temperature, when: "< 20 % of peers", state: Degraded, share: 1,
   code: Colder, owner: Hardware, sentence: cold, supersedes: [slower-than-peers]}
- {id: some-slowdown, sign: thermal-slowdown, when: any of 0x60, state: Degraded, share: 1,
   code: Slowdown, owner: Platform, sentence: slow, supersedes: [colder-than-peers]}
)";
// The goals.
constexpr double kSamplesASecondLeast = 5e6;

// Every reading and counter of the table, as a healthy device shows it; `poll` moves what may move.
std::vector<Sign> PollOf(const probes::RuleTable& table, int poll, const Instant& at) {
  std::vector<Sign> signs;
  for (int device = 0; device < kDevices; ++device) {
    for (const probes::SignSpec& spec : table.signs) {
      if (spec.kind == probes::SignKind::kEvent) continue;
      Sign sign{.device = fmt::format("0000-{:02x}-00-0", device),
                .name = spec.name,
                .unit = spec.unit,
                .time = at.wall,
                .raw = fmt::format("{} of 0000:{:02x}:00.0", spec.name, device)};
      double usual = 0;
      const char* const end = spec.usual.data() + spec.usual.size();
      const bool number = std::from_chars(spec.usual.data(), end, usual).ptr == end;
      if (number) {
        // A hundredth more or less: a reading that never moves would be no reading.
        sign.value = spec.whole ? usual : usual * (1 + 0.01 * ((poll + device) % 2));
      } else {
        sign.value = spec.usual;
      }
      signs.push_back(std::move(sign));
    }
  }
  return signs;
}

struct Rate {
  std::uint64_t samples = 0, allocations = 0, changes = 0;
  Duration took{};
};

Rate Measure(const probes::RuleTable& table) {
  Instant at{Time(1h), WallTime(std::chrono::hours(24 * 365 * 50))};
  probes::RuleEngine engine(table, {.driver = "gpu.example.com", .pool = "node-7"});
  std::vector<std::string> names;
  for (int device = 0; device < kDevices; ++device) {
    names.push_back(fmt::format("0000-{:02x}-00-0", device));
  }
  engine.SetDevices(names, at);
  std::map<std::string, std::string> models;
  for (const std::string& name : names) models[name] = "H200";
  engine.SetModels(models);
  // Both are made before the clock runs: what a probe spends on reading is no cost of the engine.
  const std::vector<Sign> polls[] = {PollOf(table, 0, at), PollOf(table, 1, at)};
  int poll = 0;
  const auto step = [&] {
    at.now += kPoll;
    at.wall += std::chrono::duration_cast<WallTime::duration>(kPoll);
    return engine.Evaluate(polls[poll++ % 2], at).changes.size();
  };
  for (int i = 0; i < kWarmUp; ++i) step();
  Rate rate;
  const std::uint64_t allocations = AllocationsSoFar();
  const auto began = std::chrono::steady_clock::now();
  while (rate.took < kMeasuredFor) {
    rate.changes += step();
    rate.samples += polls[0].size();
    rate.took = std::chrono::steady_clock::now() - began;
  }
  rate.allocations = AllocationsSoFar() - allocations;
  return rate;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureEngine(Bench&) {
  ASSIGN_OR_RETURN(const probes::RuleTable table, probes::ParseRules(kRules, "gpu and more"));
  const Rate rate = Measure(table);
  const double seconds = std::chrono::duration<double>(rate.took).count();
  const double a_second = static_cast<double>(rate.samples) / seconds;
  return std::vector<Figure>{
      {.what = fmt::format("rules: readings of {} healthy GPUs through the engine, {} rules",
                           kDevices, table.rules.size()),
       .measured = fmt::format("{:.1f} million a second, {} findings changed", a_second / 1e6,
                               rate.changes),
       .goal = "≥ 5 million a second on one core",
       .met = a_second >= kSamplesASecondLeast,
       .is_time = true},
      {.what = "… allocations of memory meanwhile",
       .measured = fmt::format("{} for {} readings", Count(rate.allocations), Count(rate.samples)),
       .goal = "none",
       .met = rate.allocations == 0}};
}

}  // namespace galen::bench
