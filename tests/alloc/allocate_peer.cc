#include <string_view>
#include <utility>
#include <vector>

#include "alloc/selection/allocator.h"
#include "alloc/selection/cel_engine.h"
#include "tests/alloc/peer.h"

namespace galen::alloc_peer {
namespace {

using alloc::Features;

struct NamedFeature {
  std::string_view name;
  bool Features::* field;
};
// By the fields of upstream's Features.
constexpr NamedFeature kFeatures[] = {
    {"AdminAccess", &Features::admin_access},
    {"CompatibilityGroups", &Features::compatibility_groups},
    {"ConsumableCapacity", &Features::consumable_capacity},
    {"DeviceBindingAndStatus", &Features::binding_conditions},
    {"DeviceTaints", &Features::device_taints},
    {"FractionalCapacityRange", &Features::fractional_capacity_range},
    {"ListTypeAttributes", &Features::list_attributes},
    {"OptionalNodeOperations", &Features::optional_node_operations},
    {"PartitionableDevices", &Features::partitionable_devices},
    {"PrioritizedList", &Features::prioritized_list},
};

alloc::Options ReadOptions(const Json& object) {
  alloc::Options options{.minor = static_cast<int>(object["minor"].AsInt(alloc::kNewestMinor))};
  options.features = alloc::StockFeatures(options.minor);
  options.experimental = object["variant"].AsString() == "experimental";
  options.cuts = object["cuts"].AsBool(true);
  if (!object["features"].is_object()) return options;
  for (const NamedFeature& feature : kFeatures)
    options.features.*feature.field = object["features"][feature.name].AsBool();
  return options;
}

DeviceId ReadId(const Json& object) {
  return {object["driver"].AsString(), object["pool"].AsString(), object["device"].AsString()};
}

Status AddHeld(const Json& held, alloc::Usage& usage) {
  for (const Json& device : held["devices"].items()) usage.AddExclusive(ReadId(device));
  for (const Json& device : held["shares"].items()) usage.AddShare(ReadId(device));
  for (const Json& device : held["amounts"].items()) {
    ASSIGN_OR_RETURN(const alloc::NamedQuantities amounts,
                     alloc::ReadNamedQuantities(device["amounts"]));
    usage.AddConsumed(ReadId(device), amounts);
  }
  return OkStatus();
}

template <typename Object, typename Read>
StatusOr<std::vector<Object>> ReadList(const Json& list, const Read& read) {
  std::vector<Object> objects;
  for (const Json& item : list.items()) {
    ASSIGN_OR_RETURN(Object object, read(item));
    objects.push_back(std::move(object));
  }
  return objects;
}

std::string_view VerdictText(alloc::Outcome::Verdict verdict) {
  using Verdict = alloc::Outcome::Verdict;
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kDoesNotFit:
      return "no fit";
    case Verdict::kNodeError:
      return "node error";
    case Verdict::kError:
      return "error";
    case Verdict::kCannotTell:
      return "cannot tell";
  }
  return "";
}

StatusOr<Json> AllocateFor(const Json& question) {
  const alloc::Options options = ReadOptions(question["options"]);
  ASSIGN_OR_RETURN(auto slices,
                   ReadList<alloc::ResourceSlice>(question["slices"], alloc::ReadResourceSlice));
  ASSIGN_OR_RETURN(const auto claims,
                   ReadList<alloc::ResourceClaim>(question["claims"], alloc::ReadResourceClaim));
  alloc::DeviceClasses classes;
  for (const Json& item : question["classes"].items()) {
    alloc::DeviceClass read = alloc::ReadDeviceClass(item);
    classes.emplace(read.name, read);
  }
  std::vector<alloc::TaintRule> rules;
  for (const Json& rule : question["rules"].items()) rules.push_back(alloc::ReadTaintRule(rule));
  const auto inventory = alloc::Inventory::Create(std::move(slices), rules, options);
  alloc::Usage usage(*inventory);
  RETURN_IF_ERROR(AddHeld(question["held"], usage));
  alloc::CelEngine engine(options.minor);
  alloc::SelectorMemo memo(*inventory, engine);
  const alloc::Demand demand = alloc::PrepareDemand(claims, classes, *inventory, memo);
  alloc::Allocator allocator(*inventory, usage, demand, memo);
  const alloc::Outcome outcome = allocator.Allocate(alloc::ReadNode(question["node"]));
  Json answer = Json::MakeObject({{"verdict", VerdictText(outcome.verdict)},
                                  {"message", outcome.message},
                                  {"calls", static_cast<std::int64_t>(allocator.calls())},
                                  {"results", Json::Array()}});
  for (const alloc::Allocation& allocation : outcome.allocations)
    answer["results"].Append(alloc::WriteAllocation(allocation));
  return answer;
}

}  // namespace

Json AnswerAllocate(const Json& question) {
  StatusOr<Json> answer = AllocateFor(question);
  if (answer.ok()) return *std::move(answer);
  return Json::MakeObject({{"verdict", "error"}, {"message", answer.status().message()}});
}

}  // namespace galen::alloc_peer
