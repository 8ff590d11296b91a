// The faults of hardware, drivers, agents and machines, of the table in sim_faults.cc.
#include <fmt/core.h>

#include <iterator>

#include "tests/sim/sim_faults.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// "for 7.2 s"
std::string For(Duration d) {
  return fmt::format("for {:.1f} s", std::chrono::duration<double>(d).count());
}

SimDriver& AnyDriver(SimNode& node, Random& chance) {
  return *node.drivers()[chance.Below(node.drivers().size())];
}

std::string AnyDevice(const SimDriver& driver, Random& chance) {
  return std::next(driver.truths().begin(),
                   static_cast<std::ptrdiff_t>(chance.Below(driver.truths().size())))
      ->first;
}

HealthState Other(HealthState state) {
  return state == HealthState::kHealthy ? HealthState::kUnhealthy : HealthState::kHealthy;
}

}  // namespace

std::string SimFaults::BreakOrHeal(SimNode& node, Random& chance) {
  SimDriver& driver = AnyDriver(node, chance);
  const std::string device = AnyDevice(driver, chance);
  // Drawn, not turned over: a step means the same when another was left out.
  const HealthState state = chance.Chance(0.5) ? HealthState::kUnhealthy : HealthState::kHealthy;
  driver.Break(device, state);
  return fmt::format("{} becomes {}", device, ToString(state));
}

std::string SimFaults::Flap(SimNode& node, Random& chance) {
  SimDriver& driver = AnyDriver(node, chance);
  const std::string device = AnyDevice(driver, chance);
  const int times = 4 + static_cast<int>(chance.Below(20));
  const Duration every = Between(chance, 5ms, 300ms);
  Again(node.name() + " " + device, times, every,
        [&driver, device] { driver.Break(device, Other(driver.truth(device))); });
  return fmt::format("{} flaps {} times, every {} ms", device, times, every / 1ms);
}

std::string SimFaults::BreakMany(SimNode& node, Random& chance) {
  const HealthState state = chance.Chance(0.5) ? HealthState::kUnhealthy : HealthState::kHealthy;
  for (const auto& driver : node.drivers()) {
    const std::map<std::string, HealthState> devices = driver->truths();
    for (const auto& [device, before] : devices) driver->Break(device, state);
  }
  return fmt::format("all devices become {}", ToString(state));
}

void SimFaults::Burst(SimNode& node, int changes, std::uint64_t chance) {
  Again(node.name() + " burst", changes, 4ms, [&node, random = Random(chance)]() mutable {
    SimDriver& driver = AnyDriver(node, random);
    const std::string device = AnyDevice(driver, random);
    driver.Break(device, Other(driver.truth(device)));
  });
}

std::string SimFaults::KillDriver(SimNode& node, Random& chance) {
  SimDriver& driver = AnyDriver(node, chance);
  const Duration d = Between(chance, 100ms, 90s);
  driver.Kill();
  Hold(node, driver.name(), d, [&driver] {
    if (!driver.running()) driver.Start();
  });
  return fmt::format("{} is killed {}", driver.name(), For(d));
}

std::string SimFaults::HangDriver(SimNode& node, Random& chance) {
  SimDriver& driver = AnyDriver(node, chance);
  const Duration d = Between(chance, 100ms, 120s);
  driver.Hang();
  Hold(node, driver.name() + " hangs", d, [&driver] { driver.GoOn(); });
  return fmt::format("{} hangs {}", driver.name(), For(d));
}

std::string SimFaults::RestartDriver(SimNode& node, Random& chance) {
  SimDriver& driver = AnyDriver(node, chance);
  node.Disturb();
  driver.Kill();
  driver.Start();
  return fmt::format("{} is killed and started", driver.name());
}

std::string SimFaults::HandOverDriver(SimNode& node, Random& chance) {
  SimDriver& driver = AnyDriver(node, chance);
  if (!driver.running()) return fmt::format("{} would hand over, but is not there", driver.name());
  node.Disturb();
  driver.HandOver();
  return fmt::format("{} hands over to a new instance", driver.name());
}

std::string SimFaults::StrangerLies(SimNode& node, Random& chance) {
  agent::FakePlugin& stranger = node.StartStranger();
  const Duration d = Between(chance, 1s, 30s);
  // Devices of other drivers, of nobody, of no name, and one twice with different states.
  stranger.Report(
      {{.device = "gpu-0", .health = 2, .message = "not mine"},
       {.device = "nobody-has-this", .health = 1},
       {.device = "", .health = 2},
       {.device = "twice", .health = 1},
       {.device = "twice", .health = 2},
       {.device = "odd", .health = 77, .message = "\x1b[31mred", .timeout_seconds = -5}});
  Hold(node, "stranger", d, [&node] { node.StopStranger(); });
  return fmt::format("odd.example.com reports what it does not have {}", For(d));
}

std::string SimFaults::StrangerHangs(SimNode& node, Random& chance) {
  const Duration d = Between(chance, 1s, 60s);
  node.StartStranger().HangGetInfo(true);
  Hold(node, "stranger", d, [&node] { node.StopStranger(); });
  return fmt::format("odd.example.com does not say who it is {}", For(d));
}

std::string SimFaults::StrangerFloods(SimNode& node, Random& chance) {
  node.StartStranger();
  const int reports = 100 + static_cast<int>(chance.Below(300));
  const Duration d = reports * 1ms + Between(chance, 1s, 20s);
  int health = 1;
  Again(node.name() + " flood", reports, 1ms, [&node, health]() mutable {
    health = 3 - health;
    if (node.stranger() == nullptr) return;
    node.stranger()->Report(
        {{.device = "flood-0", .health = health}, {.device = "flood-1", .health = 1}});
  });
  Hold(node, "stranger", d, [&node] { node.StopStranger(); });
  return fmt::format("odd.example.com sends {} reports, one a millisecond", reports);
}

std::string SimFaults::WipeSlices(SimNode& node, Random&) {
  world_.WipeSlices(node.name());
  return "somebody removes its ResourceSlices";
}

std::string SimFaults::KillAgent(SimNode& node, Random& chance) {
  const bool power_cut = chance.Chance(0.5);
  const Duration d = Between(chance, 10ms, 30s);
  node.KillAgent(power_cut);
  Hold(node, "agent", d, [&node] { node.BringAgentBack(); });
  return fmt::format("the agent is killed{} {}", power_cut ? ", with the power," : "", For(d));
}

std::string SimFaults::KillAgentAtWrite(SimNode& node, Random& chance) {
  const bool power_cut = chance.Chance(0.5);
  const std::uint64_t operations = chance.Below(12);
  const Duration d = Between(chance, 1s, 30s);
  node.KillAgentAtWrite(operations, power_cut);
  Hold(node, "agent", d, [&node] { node.BringAgentBack(); });
  return fmt::format("the agent dies {} disk operations from now{}, and is there again in {:.1f} s",
                     operations, power_cut ? " with the power" : "",
                     std::chrono::duration<double>(d).count());
}

std::string SimFaults::UpgradeAgent(SimNode& node, Random& chance) {
  const std::string version = fmt::format("1.{}.0", chance.Below(3));
  node.UpgradeAgent(version);
  // Should it die while it stops.
  Hold(node, "agent", 20s, [&node] { node.BringAgentBack(); });
  return fmt::format("the agent ends in order, version {} starts", version);
}

std::string SimFaults::FillDisk(SimNode& node, Random& chance) {
  const Duration d = Between(chance, 1s, 40s);
  node.DoubtDisk();
  // In the middle of some write to come.
  node.disk().SetRoom(node.disk().bytes_used() + chance.Below(2000));
  Hold(node, kDiskRoom, d, [&node] {
    node.DoubtDisk();
    node.disk().SetRoom(std::nullopt);
  });
  return fmt::format("the disk is nearly full {}", For(d));
}

std::string SimFaults::FailSync(SimNode& node, Random& chance) {
  const std::uint64_t after = chance.Below(4);
  node.DoubtDisk();
  node.disk().FailSync(after);
  Hold(node, kDiskSync, 30s, [&node] {
    node.DoubtDisk();
    node.disk().FailSync(std::nullopt);
  });
  return fmt::format("of the disk's syncs one fails after {}", after);
}

std::string SimFaults::HangDisk(SimNode& node, Random& chance) {
  // Half of them end before anybody's patience.
  const bool is_short = chance.Chance(0.5);
  const Duration d = is_short ? Between(chance, 1ms, 240ms) : Between(chance, 250ms, 40s);
  // Two short ones in a row are a long one.
  if (!is_short || node.disk_hangs()) node.DoubtDisk();
  node.HangDisk();
  Hold(node, kDiskAnswer, d, [&node, is_short] {
    if (!is_short) node.DoubtDisk();
    node.LetDiskGoOn();
  });
  return fmt::format("the disk hangs {:.3f} s", std::chrono::duration<double>(d).count());
}

std::string SimFaults::StepWallClock(SimNode& node, Random& chance) {
  // Up to an hour either way, as a wrong time zone or a first synchronization makes it.
  const Duration step = (static_cast<int>(chance.Below(7200)) - 3600) * 1s;
  node.Disturb();
  node.loop().StepWallClock(step);
  return fmt::format("the clock on the wall jumps by {} s", step / 1s);
}

std::string SimFaults::Suspend(SimNode& node, Random& chance) {
  const Duration d = Between(chance, 1s, 90s);
  node.Suspend();
  Hold(node, "sleep", d, [&node] { node.WakeUp(); });
  return fmt::format("the machine sleeps {}", For(d));
}

std::string SimFaults::SpoilLink(SimNode& node, Random& chance, const std::string& what,
                                 net::LinkWeather& weather) {
  const Duration d = Between(chance, 100ms, 60s);
  switch (chance.Below(4)) {
    case 0:
      weather.down = true;
      Hold(node, what + " down", d, [&weather] { weather.down = false; });
      return fmt::format("{} is down {}", what, For(d));
    case 1:
      weather.stalled = true;
      Hold(node, what + " stalled", d, [&weather] { weather.stalled = false; });
      return fmt::format("{} is half-open {}", what, For(d));
    case 2:
      // Often enough that retries meet it twice in a row.
      weather.call_failure = 0.3;
      Hold(node, what + " lossy", d, [&weather] { weather.call_failure = 0; });
      return fmt::format("{} loses 30 % of the calls {}", what, For(d));
    default:
      weather.delay_least = 1ms;
      weather.delay_most = 800ms;
      Hold(node, what + " slow", d,
           [&weather] { weather.delay_least = weather.delay_most = Duration::zero(); });
      return fmt::format("{} is up to 800 ms late {}", what, For(d));
  }
}

std::string SimFaults::SpoilSockets(SimNode& node, Random& chance) {
  return SpoilLink(node, chance, "the way to its drivers' sockets", node.driver_weather);
}

}  // namespace galen::sim
