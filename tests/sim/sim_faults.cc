#include "tests/sim/sim_faults.h"

#include <fmt/core.h>

#include <iterator>

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

std::string Describe(const net::LinkWeather& weather) {
  if (weather.down) return "down";
  if (weather.stalled) return "stalled";
  if (weather.call_failure > 0) return fmt::format("losing {:.0f} %", 100 * weather.call_failure);
  return fmt::format("up to {} ms late", weather.delay_most / 1ms);
}

}  // namespace

std::string SimFaults::Happen() {
  // Hardware changes five times of twelve: without changes there is nothing to get wrong.
  switch (world_.random().Below(12)) {
    case 0:
      return KillOrStartDriver();
    case 1:
      return KillOrStartAgent();
    case 2:
      return ChangeApiWeather();
    case 3:
      return ChangeDriverWeather();
    case 4:
      return FillOrFreeDisk();
    case 5:
      return ReplacePod();
    case 6:
      return StepWallClock();
    default:
      return BreakOrHeal();
  }
}

void SimFaults::EndAll() {
  for (const auto& node : world_.nodes()) {
    node->api_weather = net::LinkWeather();
    node->driver_weather = net::LinkWeather();
    // Before the agent starts: it has to open its journal.
    node->files().FailWrites(std::nullopt);
    if (node->agent() == nullptr) node->StartAgent();
    for (const auto& driver : node->drivers()) {
      if (!driver->running()) driver->Start();
    }
  }
}

std::string SimFaults::BreakOrHeal() {
  SimNode& node = AnyNode();
  SimDriver& driver = *node.drivers()[world_.random().Below(node.drivers().size())];
  const auto device =
      std::next(driver.truths().begin(),
                static_cast<std::ptrdiff_t>(world_.random().Below(driver.truths().size())));
  const HealthState state =
      device->second == HealthState::kHealthy ? HealthState::kUnhealthy : HealthState::kHealthy;
  // A copy, for the story; the driver may tell at once.
  const std::string name = device->first;
  driver.Break(name, state);
  return fmt::format("{}/{} becomes {}", node.name(), name, ToString(state));
}

std::string SimFaults::KillOrStartDriver() {
  SimNode& node = AnyNode();
  SimDriver& driver = *node.drivers()[world_.random().Below(node.drivers().size())];
  if (driver.running()) {
    driver.Kill();
    return fmt::format("{} on {} is killed", driver.name(), node.name());
  }
  driver.Start();
  return fmt::format("{} on {} is started", driver.name(), node.name());
}

std::string SimFaults::KillOrStartAgent() {
  SimNode& node = AnyNode();
  if (node.agent() != nullptr) {
    const bool power_cut = world_.random().Chance(0.5);
    node.KillAgent(power_cut);
    return fmt::format("the agent on {} is killed{}", node.name(),
                       power_cut ? ", with the power" : "");
  }
  node.StartAgent();
  return fmt::format("the agent on {} is started", node.name());
}

net::LinkWeather SimFaults::AnyWeather() {
  net::LinkWeather weather;
  switch (world_.random().Below(5)) {
    case 0:
      weather.down = true;
      break;
    case 1:
      weather.stalled = true;
      break;
    case 2:
      // Often enough that retries meet it twice in a row.
      weather.call_failure = 0.3;
      break;
    case 3:
      weather.delay_least = 1ms;
      weather.delay_most = 800ms;
      break;
    default:
      break;
  }
  return weather;
}

std::string SimFaults::ChangeApiWeather() {
  SimNode& node = AnyNode();
  node.api_weather = AnyWeather();
  return fmt::format("the way of {} to the API is {}", node.name(), Describe(node.api_weather));
}

std::string SimFaults::ChangeDriverWeather() {
  SimNode& node = AnyNode();
  node.driver_weather = AnyWeather();
  return fmt::format("the sockets of {} are {}", node.name(), Describe(node.driver_weather));
}

std::string SimFaults::FillOrFreeDisk() {
  SimNode& node = AnyNode();
  const bool full = world_.random().Chance(0.5);
  node.files().FailWrites(full ? std::optional(ResourceExhausted("no space left on device"))
                               : std::nullopt);
  return fmt::format("the disk of {} is {}", node.name(), full ? "full" : "usable");
}

std::string SimFaults::ReplacePod() {
  if (world_.pods().empty()) return "nothing";
  const auto pod =
      std::next(world_.pods().begin(),
                static_cast<std::ptrdiff_t>(world_.random().Below(world_.pods().size())));
  const ObjectKey gone = pod->first;
  // Its device comes free only when its node lets it go, which may be cut off: the new Pod then
  // waits.
  world_.DeletePod(gone);
  const std::string fresh = fmt::format("late-{}", ++pods_made_);
  world_.AddPod(fresh, world_.random().Chance(0.5) ? "gpu" : "nic");
  return fmt::format("Pod {} is deleted, {} is made", gone.name, fresh);
}

std::string SimFaults::StepWallClock() {
  // Up to an hour either way, as a wrong time zone or a first synchronization makes it.
  const Duration step = (static_cast<int>(world_.random().Below(7200)) - 3600) * 1s;
  world_.loop().StepWallClock(step);
  return fmt::format("the clock on the wall jumps by {} s", step / 1s);
}

}  // namespace galen::sim
