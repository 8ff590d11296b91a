#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sdk/plugin/plugin_service.h"

namespace galen::sdk {
namespace {

// The key of devices without a known node: after all others.
constexpr std::pair<bool, std::int64_t> kNoNode{true, 0};

using Node = std::pair<bool, std::int64_t>;
// "gpu-2" before "gpu-10".
struct ShorterFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::tuple(a.size(), std::string_view(a)) < std::tuple(b.size(), std::string_view(b));
  }
};
using Ids = std::set<std::string, ShorterFirst>;
template <typename Place>
using Groups = std::map<Place, Ids>;

const PluginDevice* Find(const PluginDevices& devices, const std::string& id) {
  const auto it = devices.find(id);
  return it == devices.end() ? nullptr : &it->second;
}

Node NodeOf(const PluginDevices& devices, const std::string& id) {
  const PluginDevice* device = Find(devices, id);
  return device != nullptr && device->numa_node ? Node{false, *device->numa_node} : kNoNode;
}

std::string RootOf(const PluginDevices& devices, const std::string& id) {
  const PluginDevice* device = Find(devices, id);
  return device == nullptr ? "" : device->pcie_root;
}

// The fewest roots that together have `wanted` of `ids`.
std::size_t RootsFor(const PluginDevices& devices, const Ids& ids, std::size_t wanted) {
  std::map<std::string, std::size_t> of_root;
  for (const std::string& id : ids) ++of_root[RootOf(devices, id)];
  std::vector<std::size_t> sizes;
  for (const auto& [root, count] : of_root) sizes.push_back(count);
  std::ranges::sort(sizes, std::greater());
  std::size_t roots = 0;
  for (std::size_t had = 0; had < wanted && roots < sizes.size(); ++roots) had += sizes[roots];
  return roots;
}

bool IsKnown(const Node& node) { return node != kNoNode; }
bool IsKnown(const std::string& root) { return !root.empty(); }

// The group to take from next: first one that is already used, then one that is known; then, of
// those that have enough devices, the one that needs the fewest roots, then the smallest; if none
// has enough, the largest.
template <typename Place>
typename Groups<Place>::iterator Next(const PluginDevices& devices, Groups<Place>& groups,
                                      const std::set<Place>& in_use, std::size_t wanted) {
  using Rank = std::tuple<bool, bool, bool, std::size_t, std::size_t>;
  const auto rank = [&](const auto& group) -> Rank {
    const std::size_t size = group.second.size();
    const bool enough = size >= wanted;
    return {!in_use.contains(group.first), !IsKnown(group.first), !enough,
            enough ? RootsFor(devices, group.second, wanted) : 0,
            enough ? size - wanted : wanted - size};
  };
  auto best = groups.begin();
  Rank lowest = rank(*best);
  for (auto it = std::next(best); it != groups.end(); ++it) {
    const Rank its = rank(*it);
    if (its >= lowest) continue;
    lowest = its;
    best = it;
  }
  return best;
}

// Takes up to `wanted` of `ids`, grouped by `place`, and passes them to `take`.
template <typename Place, typename PlaceOf, typename Take>
void FromGroups(const PluginDevices& devices, const Ids& ids, std::set<Place> in_use,
                std::size_t wanted, const PlaceOf& place, const Take& take) {
  Groups<Place> groups;
  for (const std::string& id : ids) groups[place(id)].insert(id);
  while (wanted > 0 && !groups.empty()) {
    const auto group = Next(devices, groups, in_use, wanted);
    const std::size_t count = std::min(wanted, group->second.size());
    take(group->second, count);
    wanted -= count;
    in_use.insert(group->first);
    groups.erase(group);
  }
}

}  // namespace

StatusOr<std::vector<std::string>> PreferDevices(const PluginDevices& devices,
                                                 const std::vector<std::string>& available,
                                                 const std::vector<std::string>& must,
                                                 std::size_t size) {
  Ids free(available.begin(), available.end());
  std::vector<std::string> chosen;
  std::set<Node> nodes;
  std::set<std::string> roots;
  const auto choose = [&](const std::string& id) {
    chosen.push_back(id);
    nodes.insert(NodeOf(devices, id));
    roots.insert(RootOf(devices, id));
  };
  for (const std::string& id : Ids(must.begin(), must.end())) {
    free.erase(id);
    choose(id);
  }
  if (size < chosen.size() || size - chosen.size() > free.size()) {
    return InvalidArgument(
        "{} devices are asked for, of which {} must be among them and {} more are available", size,
        chosen.size(), free.size());
  }
  const auto from_node = [&](const Ids& ids, std::size_t wanted) {
    FromGroups(
        devices, ids, roots, wanted, [&](const std::string& id) { return RootOf(devices, id); },
        [&](const Ids& of_root, std::size_t count) {
          for (auto it = of_root.begin(); count > 0; --count) choose(*it++);
        });
  };
  FromGroups(
      devices, free, nodes, size - chosen.size(),
      [&](const std::string& id) { return NodeOf(devices, id); }, from_node);
  return chosen;
}

}  // namespace galen::sdk
