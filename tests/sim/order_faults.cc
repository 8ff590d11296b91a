// The faults of order, of the table in sim_faults.cc: another object of the same name or UID, a
// second thing while the first is under way, and the second failure of what failed once.
#include <fmt/core.h>

#include "agent/holdings/claim_index.h"
#include "kube/request.h"
#include "tests/sim/sim_faults.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

std::string Fresh(std::string_view prefix, Random& chance) {
  return fmt::format("{}-{:08x}", prefix, chance.Below(std::uint64_t{1} << 32));
}

}  // namespace

std::string SimFaults::PlaceGroup(SimNode& node, Random& chance) {
  return PlaceGroupAt(node, chance.Chance(0.5) ? "nic-2" : "nic-3", chance);
}

// The group's claim keeps its UID and name, and its Pods that have ended stay: an agent that knows
// the claim through them knows a former allocation.
std::string SimFaults::PlaceGroupAt(SimNode& node, const std::string& device, Random& chance) {
  const std::string fresh = Fresh("ring", chance);
  const bool ended_stay = chance.Chance(0.6);
  const bool tidied = chance.Chance(0.5);
  std::string before;
  for (const auto& [key, pod] : world_.pods()) {
    if (pod.group.empty()) continue;
    if (agent::HasEnded(pod)) {
      if (tidied) world_.DeletePod(key);
      continue;
    }
    before += key.name + " ";
    if (ended_stay && pod.phase == "Running" && !pod.meta.deleted) {
      world_.EndPod(pod, 139);
    } else {
      world_.DeletePod(key, true);
    }
  }
  world_.PlaceGroup(node.name(), device);
  world_.AddGroupPod(fresh);
  return fmt::format("the group's claim goes to {}, for {}; before: {}", device, fresh,
                     before.empty() ? "nobody" : before + (ended_stay ? "ended" : "removed"));
}

std::string SimFaults::JoinGroup(SimNode&, Random& chance) {
  const std::string fresh = Fresh("ring", chance);
  if (!world_.group_is_placed()) return "nothing";
  world_.AddGroupPod(fresh);
  return fmt::format("{} joins the group", fresh);
}

// While what the agent writes about the former Pod is on its way.
std::string SimFaults::RecreatePod(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string driver = chance.Chance(0.5) ? "gpu" : "nic";
  const Duration after = Between(chance, 1ms, 1500ms);
  const bool breaks = chance.Chance(0.7), waits = chance.Chance(0.7);
  const std::optional<ObjectKey> found = PodAt(place);
  if (!found) return "nothing";
  const kube::Pod& pod = world_.pods().at(*found);
  SimNode* node = world_.node(pod.node);
  std::string story = fmt::format("Pod {} is made again after {} ms", found->name, after / 1ms);
  if (node != nullptr && waits) {
    story += ", " + SpoilGate(
                        *node, chance, "requests of " + pod.node + " do not reach the API", 6s,
                        [](GateWeather& weather) { weather.requests_wait = true; },
                        [](GateWeather& weather) { weather.requests_wait = false; });
  }
  for (const DeviceId& id : world_.DevicesOf(pod)) {
    if (node != nullptr && breaks) {
      node->driver(id.driver).Break(id.device, HealthState::kUnhealthy);
      story += ", its " + id.device + " becomes Unhealthy";
    }
  }
  Again("made again " + found->name, 1, after, [this, key = *found, uid = pod.meta.uid, driver] {
    const auto now = world_.pods().find(key);
    if (now == world_.pods().end() || now->second.meta.uid != uid) return;
    world_.RecreatePod(key, driver);
  });
  return story;
}

// Prepares and unprepares are under way, for what the driver asks the API is answered late.
std::string SimFaults::HandOverAtWork(SimNode& node, Random& chance) {
  SimDriver& driver = *node.drivers()[chance.Below(node.drivers().size())];
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string fresh = Fresh(fmt::format("late-{}", place), chance);
  const Duration every = Between(chance, 20ms, 3s);
  node.Disturb();
  if (const std::optional<ObjectKey> gone = PodAt(place)) {
    world_.DeletePod(*gone, chance.Chance(0.5));
    world_.AddPod(fresh, driver.name() == "gpu.example.com" ? "gpu" : "nic");
  }
  const std::string late = SpoilGate(
      node, chance, "the API's answers do not reach it", 8s,
      [](GateWeather& weather) { weather.answers_wait = true; },
      [](GateWeather& weather) { weather.answers_wait = false; });
  Again(node.name() + " at work " + driver.name(), 2, every, [&node, &driver] {
    if (!driver.running()) return;
    node.Disturb();
    driver.HandOver();
  });
  return fmt::format("{} hands over twice, every {} ms, {}, {} is made", driver.name(), every / 1ms,
                     late, fresh);
}

std::string SimFaults::ExpireTwice(SimNode& node, Random& chance) {
  const int times = 1 + static_cast<int>(chance.Below(3));
  const Duration every = Between(chance, 1ms, 2s);
  const auto expire = [&node] {
    node.Disturb();
    node.DisturbApi();
    node.gate().ExpireWatches();
  };
  expire();
  Again(node.name() + " expires", times, every, expire);
  return fmt::format("its watches end with 410, and {} times more, every {} ms", times,
                     every / 1ms);
}

// The second time is when an agent that waited tries again (HealthKeeper::kSyncAgain), or soon
// after the first.
std::string SimFaults::FailDiskTwice(SimNode& node, Random& chance) {
  const bool fills = chance.Chance(0.5), soon = chance.Chance(0.3);
  const Duration every = soon ? Between(chance, 10ms, 3s) : Between(chance, 29s, 32s);
  const auto fail = [&node, fills, room = chance.Below(600), after = chance.Below(3)] {
    node.DoubtDisk();
    fills ? node.disk().SetRoom(node.disk().bytes_used() + room) : node.disk().FailSync(after);
  };
  fail();
  Again(node.name() + " fails again", 2, every, fail);
  Hold(node, fills ? "disk" : "sync", 2 * every + Between(chance, 10ms, 4s), [&node, fills] {
    node.DoubtDisk();
    fills ? node.disk().SetRoom(std::nullopt) : node.disk().FailSync(std::nullopt);
  });
  return fmt::format("{}, three times, every {} ms",
                     fills ? "the disk is full" : "one of the disk's syncs fails", every / 1ms);
}

// The second begins while everybody still reads what the first has hidden.
std::string SimFaults::TwoOutages(SimNode&, Random& chance) {
  const Duration first = Between(chance, 1s, 40s), between = Between(chance, 1ms, 3s);
  const Duration second = Between(chance, 1s, 30s);
  const auto down = [this](Duration d) {
    for (const auto& node : world_.nodes()) {
      node->api_weather.down = true;
      node->DisturbApi();
      Hold(*node, "the way to the API down", d, [n = node.get()] { n->api_weather.down = false; });
    }
  };
  down(first);
  Again("second outage", 1, first + between, [down, second] { down(second); });
  return fmt::format("and everybody: the API is away for {} ms, {} ms later again for {} ms",
                     first / 1ms, between / 1ms, second / 1ms);
}

std::string SimFaults::MoveDevices(SimNode& node, Random& chance) {
  const int times = 1 + static_cast<int>(chance.Below(3));
  const Duration every = Between(chance, 1ms, 3s);
  const bool new_first = chance.Chance(0.5);
  node.StartStranger().Report({{.device = "odd-0", .health = 1}, {.device = "odd-1", .health = 2}});
  Hold(node, "stranger", times * every + Between(chance, 1s, 30s),
       [&node] { node.StopStranger(); });
  world_.MoveOddDevices(node.name(), new_first);
  Again(node.name() + " moves", times, every,
        [this, &node, new_first] { world_.MoveOddDevices(node.name(), new_first); });
  return fmt::format(
      "devices of odd.example.com go to another slice, {} times more every {} ms, {}", times,
      every / 1ms, new_first ? "new first" : "old first");
}

std::string SimFaults::Blind(SimNode& node, Random& chance) {
  node.Disturb();
  node.DisturbApi();
  node.gate().ExpireWatches();
  return SpoilGate(
      node, chance, "the watches of " + node.name() + " end and its requests do not reach the API",
      4s, [](GateWeather& weather) { weather.requests_wait = true; },
      [](GateWeather& weather) { weather.requests_wait = false; });
}

// Its agent finds another Pod under the name, in a list or after a start, and may see that one end.
std::string SimFaults::RecreateUnseen(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string fresh = Fresh(fmt::format("late-{}", place), chance);
  const bool away = chance.Chance(0.3), breaks = chance.Chance(0.7), ends = chance.Chance(0.6);
  const bool gets_gpu = chance.Chance(0.5);
  const Duration away_for = Between(chance, 2s, 6s), ends_after = Between(chance, 8s, 14s);
  const std::optional<ObjectKey> found = PodAt(place);
  if (!found) return "nothing";
  const kube::Pod& pod = world_.pods().at(*found);
  SimNode* node = world_.node(pod.node);
  const std::vector<DeviceId> held = world_.DevicesOf(pod);
  if (node == nullptr || held.empty()) return "nothing";
  if (breaks) node->driver(held[0].driver).Break(held[0].device, HealthState::kUnhealthy);
  std::string how = "while the agent is away";
  if (away) {
    node->KillAgent(false);
    Hold(*node, "agent", away_for, [node] { node->BringAgentBack(); });
  } else {
    how = Blind(*node, chance);
  }
  world_.RecreatePod(*found, gets_gpu ? "gpu" : "nic");
  if (ends) {
    Again("ends again " + found->name, 1, ends_after, [this, key = *found, fresh] {
      const auto now = world_.pods().find(key);
      if (now == world_.pods().end() || now->second.phase != "Running") return;
      world_.EndPod(now->second, 139);
      world_.AddPod(fresh, "gpu");
    });
  }
  return fmt::format("Pod {} on {} is made again, {}{}", found->name, node->name(), how,
                     ends ? ", and ends" : "");
}

std::string SimFaults::PlaceGroupUnseen(SimNode&, Random& chance) {
  if (!world_.group_is_placed()) return "nothing";
  SimNode& node = *world_.node(world_.group_node());
  const auto claim = world_.claims().find({"default", "ring"});
  const bool second = claim != world_.claims().end() &&
                      claim->second.Holds({"nic.example.com", node.name(), "nic-2"});
  const std::string blind = Blind(node, chance);
  return blind + ", " + PlaceGroupAt(node, second ? "nic-3" : "nic-2", chance);
}

std::string SimFaults::TurnHeld(SimNode& node, int times, Duration every) {
  std::string story;
  for (const auto& [key, pod] : world_.pods()) {
    if (pod.node != node.name() || agent::HasEnded(pod)) continue;
    for (const DeviceId& id : world_.DevicesOf(pod)) {
      SimDriver& driver = node.driver(id.driver);
      const auto turn = [&driver, device = id.device] {
        const bool well = driver.truth(device) == HealthState::kHealthy;
        driver.Break(device, well ? HealthState::kUnhealthy : HealthState::kHealthy);
      };
      turn();
      Again(node.name() + " news " + id.device, times, every, turn);
      story +=
          fmt::format(", {} changes and {} times more every {} ms", id.device, times, every / 1ms);
    }
  }
  return story;
}

// The disk is slow for less than anybody's patience, and more happens before it has answered.
std::string SimFaults::NewsDuringWrite(SimNode& node, Random& chance) {
  const Duration d = Between(chance, 100ms, 240ms);
  const Duration second = Between(chance, 5ms, 80ms), touched = Between(chance, 5ms, 60ms);
  if (node.disk_hangs()) return "nothing";
  std::string story = fmt::format("the disk needs {} ms", d / 1ms);
  node.HangDisk();
  Hold(node, kDiskAnswer, d, [&node] { node.LetDiskGoOn(); });
  story += TurnHeld(node, 2, second);
  for (const auto& [key, pod] : world_.pods()) {
    if (pod.node != node.name() || agent::HasEnded(pod)) continue;
    Again("touched " + key.name, 3, touched, [this, key, touches = 0]() mutable {
      Json patch;
      patch["metadata"]["labels"]["touched"] = std::to_string(++touches);
      world_.Ask(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kMerge, patch));
    });
  }
  return story;
}

std::string SimFaults::PodsDuringHang(SimNode& node, Random& chance) {
  const Duration d = Between(chance, 300ms, 8s);
  std::string story = fmt::format("the disk hangs for {} ms", d / 1ms);
  node.DoubtDisk();
  node.HangDisk();
  Hold(node, kDiskAnswer, d, [&node] {
    node.DoubtDisk();
    node.LetDiskGoOn();
  });
  int replaced = 0;
  for (std::uint64_t place = 0; place < SimWorld::kPods && replaced < 2; ++place) {
    const std::string fresh = Fresh(fmt::format("late-{}", place), chance);
    const std::optional<ObjectKey> found = PodAt(place);
    if (!found || world_.pods().at(*found).node != node.name()) continue;
    world_.DeletePod(*found, true);
    ++replaced;
    world_.AddPod(fresh, "gpu");
    story += fmt::format(", Pod {} is removed by force, {} is made", found->name, fresh);
  }
  return story;
}

// The device is well again soon after, and nobody's.
std::string SimFaults::EndWithFault(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string fresh = Fresh(fmt::format("late-{}", place), chance);
  const bool soon = chance.Chance(0.4);
  const Duration ends = Between(chance, 16s, 20s);
  const Duration repaired = soon ? Between(chance, 200ms, 900ms) : Between(chance, 1500ms, 9s);
  const std::optional<ObjectKey> found = PodAt(place);
  if (!found) return "nothing";
  const kube::Pod& pod = world_.pods().at(*found);
  const std::vector<DeviceId> held = world_.DevicesOf(pod);
  if (held.empty()) return "nothing";
  SimDriver& driver = world_.node(pod.node)->driver(held[0].driver);
  driver.Break(held[0].device, HealthState::kUnhealthy);
  const std::string other = held[0].driver == "gpu.example.com" ? "nic" : "gpu";
  Again("ends with it " + found->name, 1, ends,
        [this, &driver, fresh, other, repaired, key = *found, uid = pod.meta.uid,
         device = held[0].device] {
          const auto now = world_.pods().find(key);
          if (now == world_.pods().end() || now->second.meta.uid != uid) return;
          if (now->second.phase != "Running") return;
          world_.EndPod(now->second, 139);
          world_.AddPod(fresh, other);
          Again("repaired " + device, 1, repaired,
                [&driver, device] { driver.Break(device, HealthState::kHealthy); });
        });
  return fmt::format(
      "{} of {} becomes Unhealthy, the Pod ends {} ms later, {} ms after that it is "
      "Healthy",
      held[0].device, found->name, ends / 1ms, repaired / 1ms);
}

// The Pod may have ended because of that fault all the same. Soon after it is seen, the Pod is
// removed.
std::string SimFaults::EndBeforeFault(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string fresh = Fresh(fmt::format("late-{}", place), chance);
  const Duration breaks = Between(chance, 500ms, 7s), removed = Between(chance, 200ms, 900ms);
  const std::optional<ObjectKey> found = PodAt(place);
  if (!found) return "nothing";
  const kube::Pod& pod = world_.pods().at(*found);
  const std::vector<DeviceId> held = world_.DevicesOf(pod);
  if (held.empty() || pod.phase != "Running") return "nothing";
  SimDriver& driver = world_.node(pod.node)->driver(held[0].driver);
  world_.EndPod(pod, 139);
  world_.AddPod(fresh, held[0].driver == "gpu.example.com" ? "nic" : "gpu");
  Again("breaks " + held[0].device, 1, breaks,
        [this, &driver, device = held[0].device, removed, key = *found] {
          driver.Break(device, HealthState::kUnhealthy);
          Again("removed " + key.name, 1, removed, [this, key] { world_.DeletePod(key); });
        });
  return fmt::format(
      "Pod {} ends, {} ms later {} becomes Unhealthy, {} ms after that it is removed", found->name,
      breaks / 1ms, held[0].device, removed / 1ms);
}

// What the agent writes takes effect, and more happens before it knows.
std::string SimFaults::NewsDuringAnswer(SimNode& node, Random& chance) {
  const int times = 1 + static_cast<int>(chance.Below(6));
  const Duration every = Between(chance, 20ms, 700ms);
  const std::string late = SpoilGate(
      node, chance, "the API's answers do not reach it", 4s,
      [](GateWeather& weather) { weather.answers_wait = true; },
      [](GateWeather& weather) { weather.answers_wait = false; });
  return late + TurnHeld(node, times, every);
}

// A mistake of whoever made it: it waits for as long as the claim is reserved for the other.
std::string SimFaults::NameAnothersClaim(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string guest = Fresh("guest", chance);
  const Duration d = Between(chance, 1s, 12s);
  const std::optional<ObjectKey> found = PodAt(place);
  if (!found) return "nothing";
  const kube::Pod& pod = world_.pods().at(*found);
  const std::vector<ObjectKey> named = agent::ClaimKeysOf(pod);
  if (world_.DevicesOf(pod).empty() || named.empty()) return "nothing";
  const std::string claim = named[0].name;
  world_.AddPodOfClaim(guest, claim, pod.node);
  Hold(*world_.node(pod.node), guest, d,
       [this, guest] { world_.DeletePod({"default", guest}, true); });
  return fmt::format("{} is put on {} and names the claim {} of {}", guest, pod.node, claim,
                     found->name);
}

}  // namespace galen::sim
