// The faults between a node and the API server, and what other clients of it do; of the table in
// sim_faults.cc.
#include <fmt/core.h>

#include <iterator>

#include "agent/holdings/claim_index.h"
#include "kube/request.h"
#include "tests/sim/sim_faults.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// A TCP connection without traffic is given up by its HTTP/2 PINGs (kube::Transport), so no
// direction of a connection stays silent for longer.
constexpr Duration kDirectionMost = 40s;

// "pod-3" and what came after it, "late-3-2f9c01d4", have the same place.
std::string PrefixOf(std::string_view kind, std::uint64_t place) {
  return fmt::format("{}-{}", kind, place);
}

}  // namespace

std::string SimFaults::SpoilGate(SimNode& node, Random& chance, const std::string& what,
                                 Duration most, const std::function<void(GateWeather&)>& spoil,
                                 const std::function<void(GateWeather&)>& mend) {
  const Duration d =
      100ms + static_cast<int>(chance.Below(static_cast<std::uint64_t>(most / 1ms))) * 1ms;
  GateWeather weather = node.gate().weather();
  spoil(weather);
  node.DisturbApi();
  node.gate().SetWeather(weather);
  Hold(node, what, d, [&node, mend] {
    GateWeather after = node.gate().weather();
    mend(after);
    node.gate().SetWeather(after);
  });
  return fmt::format("{} for {:.1f} s", what, std::chrono::duration<double>(d).count());
}

std::string SimFaults::SpoilApi(SimNode& node, Random& chance) {
  node.DisturbApi();
  return SpoilLink(node, chance, "the way to the API", node.api_weather);
}

std::string SimFaults::CutApi(SimNode& node, Random&) {
  node.Disturb();
  node.DisturbApi();
  world_.CutApi(node.name());
  return "the connections to the API are cut";
}

std::string SimFaults::ApiOutage(SimNode&, Random&) {
  for (const auto& node : world_.nodes()) {
    node->api_weather.down = true;
    node->DisturbApi();
    Hold(*node, "the way to the API down", 10min,
         [n = node.get()] { n->api_weather.down = false; });
  }
  return "and everybody: the API is away for 10 minutes";
}

std::string SimFaults::LoseRequests(SimNode& node, Random& chance) {
  return SpoilGate(
      node, chance, "its requests do not reach the API", kDirectionMost,
      [](GateWeather& weather) { weather.requests_wait = true; },
      [](GateWeather& weather) { weather.requests_wait = false; });
}

std::string SimFaults::LoseAnswers(SimNode& node, Random& chance) {
  return SpoilGate(
      node, chance, "the API's answers do not reach it", kDirectionMost,
      [](GateWeather& weather) { weather.answers_wait = true; },
      [](GateWeather& weather) { weather.answers_wait = false; });
}

std::string SimFaults::Storm(SimNode& node, Random& chance) {
  static constexpr int kCodes[] = {429, 500, 503, 409};
  const int code = kCodes[chance.Below(std::size(kCodes))];
  return SpoilGate(
      node, chance, fmt::format("the API refuses two of three requests with {}", code), 30s,
      [code](GateWeather& weather) {
        weather.refuse_with = code;
        weather.refuse_chance = 0.67;
      },
      [](GateWeather& weather) { weather.refuse_with = 0; });
}

std::string SimFaults::LoseWrites(SimNode& node, Random& chance) {
  return SpoilGate(
      node, chance, "half of its writes take effect without an answer", 30s,
      [](GateWeather& weather) { weather.lost_answer_chance = 0.5; },
      [](GateWeather& weather) { weather.lost_answer_chance = 0; });
}

std::string SimFaults::SlowWatches(SimNode& node, Random& chance) {
  return SpoilGate(
      node, chance, "events of its watches are up to 5 s late", 40s,
      [](GateWeather& weather) { weather.watch_delay_most = 5s; },
      [](GateWeather& weather) { weather.watch_delay_most = Duration::zero(); });
}

std::string SimFaults::SendTwice(SimNode& node, Random& chance) {
  return SpoilGate(
      node, chance, "events of its watches come twice", 40s,
      [](GateWeather& weather) { weather.events_twice = true; },
      [](GateWeather& weather) { weather.events_twice = false; });
}

std::string SimFaults::ExpireWatches(SimNode& node, Random&) {
  node.Disturb();
  node.DisturbApi();
  node.gate().ExpireWatches();
  return "its watches end with 410";
}

std::string SimFaults::RefuseWatches(SimNode& node, Random& chance) {
  return SpoilGate(
      node, chance, "two of three new watches get 410", 20s,
      [](GateWeather& weather) { weather.gone_chance = 0.67; },
      [](GateWeather& weather) { weather.gone_chance = 0; });
}

std::string SimFaults::TearWatches(SimNode& node, Random&) {
  node.Disturb();
  node.DisturbApi();
  node.gate().TearWatches();
  return "its watches end in the middle of an event";
}

std::string SimFaults::SendBookmarks(SimNode& node, Random&) {
  node.gate().SendBookmarks();
  return "its watches get a bookmark";
}

// By place, not by what is there: a step means the same Pod when an earlier one was left out.
std::vector<ObjectKey> SimFaults::PodsAt(std::uint64_t place, bool ended) const {
  std::vector<ObjectKey> found;
  for (const auto& [key, pod] : world_.pods()) {
    // One that was replaced may stay for as long as its node is cut off.
    if (pod.meta.deleted || agent::HasEnded(pod) != ended) continue;
    if (key.name == PrefixOf("pod", place) || key.name.starts_with(PrefixOf("late", place) + "-")) {
      found.push_back(key);
    }
  }
  return found;
}

std::optional<ObjectKey> SimFaults::PodAt(std::uint64_t place) const {
  const std::vector<ObjectKey> found = PodsAt(place, false);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::string SimFaults::ReplacePod(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string fresh =
      fmt::format("{}-{:08x}", PrefixOf("late", place), chance.Below(std::uint64_t{1} << 32));
  const std::string driver = chance.Chance(0.5) ? "gpu" : "nic";
  const std::optional<ObjectKey> gone = PodAt(place);
  if (!gone) return "nothing";
  // Its device comes free only when its node lets it go, which may be cut off: the new Pod then
  // waits.
  world_.DeletePod(*gone);
  world_.AddPod(fresh, driver);
  return fmt::format("Pod {} is deleted, {} is made", gone->name, fresh);
}

std::string SimFaults::RemovePod(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string fresh =
      fmt::format("{}-{:08x}", PrefixOf("late", place), chance.Below(std::uint64_t{1} << 32));
  const std::string driver = chance.Chance(0.5) ? "gpu" : "nic";
  const std::optional<ObjectKey> gone = PodAt(place);
  if (!gone) return "nothing";
  world_.DeletePod(*gone, true);
  world_.AddPod(fresh, driver);
  return fmt::format("Pod {} is removed by force, {} is made", gone->name, fresh);
}

// The claim keeps its UID and may get another device for its next Pod.
std::string SimFaults::PassClaimOn(SimNode&, Random& chance) {
  const std::string fresh = fmt::format("named-{:08x}", chance.Below(std::uint64_t{1} << 32));
  const bool by_force = chance.Chance(0.7);
  std::string before;
  for (const auto& [key, pod] : world_.pods()) {
    if (!key.name.starts_with("named-")) continue;
    world_.DeletePod(key, by_force);
    before += key.name + " ";
  }
  world_.AddPodOfNamedClaim(fresh);
  if (before.empty()) return fmt::format("Pod {} is made, with the named claim", fresh);
  return fmt::format("Pod {}is deleted{}, {} is made and gets its claim", before,
                     by_force ? " by force" : "", fresh);
}

std::string SimFaults::EndPod(SimNode&, Random& chance) {
  const std::uint64_t place = chance.Below(SimWorld::kPods);
  const std::string fresh =
      fmt::format("{}-{:08x}", PrefixOf("late", place), chance.Below(std::uint64_t{1} << 32));
  const std::string driver = chance.Chance(0.5) ? "gpu" : "nic";
  const int exit_code = chance.Chance(0.5) ? 139 : 0;
  const std::optional<ObjectKey> ends = PodAt(place);
  if (!ends) return "nothing";
  const kube::Pod& pod = world_.pods().at(*ends);
  if (pod.phase != "Running") return "nothing";
  for (const ObjectKey& old : PodsAt(place, true)) world_.DeletePod(old);
  world_.EndPod(pod, exit_code);
  world_.AddPod(fresh, driver);
  return fmt::format("Pod {} on {} ends with {} and stays, {} is made", ends->name, pod.node,
                     exit_code, fresh);
}

std::string SimFaults::TouchPod(SimNode&, Random& chance) {
  const std::optional<ObjectKey> found = PodAt(chance.Below(SimWorld::kPods));
  if (!found) return "nothing";
  const ObjectKey key = *found;
  switch (chance.Below(3)) {
    case 0: {
      Json patch;
      patch["metadata"]["annotations"][kube::kDevicesAnnotation] = nullptr;
      world_.Ask(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kMerge, patch));
      return fmt::format("somebody removes the annotation of {}", key.name);
    }
    case 1: {
      Json condition =
          Json::MakeObject({{"type", std::string(kube::kDevicesCondition)}, {"$patch", "delete"}});
      Json patch;
      patch["status"]["conditions"].Append(std::move(condition));
      world_.Ask(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kStrategic, patch,
                             {.subresource = "status"}));
      return fmt::format("somebody removes the condition of {}", key.name);
    }
    default: {
      Json patch;
      patch["metadata"]["labels"]["touched"] = std::to_string(chance.Below(1000));
      world_.Ask(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kMerge, patch));
      return fmt::format("somebody labels {}", key.name);
    }
  }
}

std::string SimFaults::OverwriteNodeHealth(SimNode& node, Random& chance) {
  node.Disturb();
  if (chance.Chance(0.5)) {
    world_.Ask(kube::Delete(kube::kNodeDeviceHealths, "", node.name()));
    return "somebody deletes its NodeDeviceHealth";
  }
  Json patch;
  patch["status"]["devices"] = Json(Json::Array{});
  patch["status"]["summary"] = nullptr;
  world_.Ask(kube::Patch(kube::kNodeDeviceHealths, "", node.name(), kube::PatchType::kMerge, patch,
                         {.subresource = "status"}));
  return "somebody empties its NodeDeviceHealth";
}

}  // namespace galen::sim
