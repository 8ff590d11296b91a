#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api_sim/patch/patch.h"
#include "base/check.h"
#include "kube/resource.h"

namespace galen::api_sim {
namespace {

// kAtomic: replaced whole. kByKey: items with an equal `key` merge. kSet: plain values, united.
enum class ListMerge { kAtomic, kByKey, kSet };

// The merge rule of a field: the type of its value (or of each item), and how lists of it merge.
struct FieldRule {
  std::string_view type;
  std::string_view field;
  std::string_view child;  // "" = nothing is known about what is below
  ListMerge merge = ListMerge::kAtomic;
  std::string_view key = {};  // kByKey: the member that identifies an item
};

constexpr auto kByKey = ListMerge::kByKey;
constexpr auto kAsSet = ListMerge::kSet;

// How lists inside the built-in kinds merge: the patchStrategy and patchMergeKey tags of their Go
// types. A list that is not here is replaced whole (node taints, tolerations, containerStatuses and
// most others).
// Source: https://github.com/kubernetes/api at v1.36 (core/v1 and resource/v1 types.go) and from
// apimachinery's ObjectMeta.
constexpr FieldRule kRules[] = {
    {"ObjectMeta", "ownerReferences", "", kByKey, "uid"},
    {"ObjectMeta", "finalizers", "", kAsSet, ""},

    {"Pod", "metadata", "ObjectMeta"},
    {"Pod", "spec", "PodSpec"},
    {"Pod", "status", "PodStatus"},
    {"PodSpec", "volumes", "", kByKey, "name"},
    {"PodSpec", "containers", "Container", kByKey, "name"},
    {"PodSpec", "initContainers", "Container", kByKey, "name"},
    {"PodSpec", "ephemeralContainers", "Container", kByKey, "name"},
    {"PodSpec", "imagePullSecrets", "", kByKey, "name"},
    {"PodSpec", "hostAliases", "", kByKey, "ip"},
    {"PodSpec", "topologySpreadConstraints", "", kByKey, "topologyKey"},
    {"PodSpec", "schedulingGates", "", kByKey, "name"},
    {"PodSpec", "resourceClaims", "", kByKey, "name"},
    {"PodSpec", "evictionResponders", "", kByKey, "name"},
    {"Container", "ports", "", kByKey, "containerPort"},
    {"Container", "env", "", kByKey, "name"},
    {"Container", "volumeMounts", "", kByKey, "mountPath"},
    {"Container", "volumeDevices", "", kByKey, "devicePath"},
    {"PodStatus", "conditions", "", kByKey, "type"},
    {"PodStatus", "hostIPs", "", kByKey, "ip"},
    {"PodStatus", "podIPs", "", kByKey, "ip"},
    {"PodStatus", "resourceClaimStatuses", "", kByKey, "name"},
    {"PodStatus", "nodeAllocatableResourceClaimStatuses", "NodeAllocatableClaim", kByKey,
     "resourceClaimName"},
    {"NodeAllocatableClaim", "mapping", "", kByKey, "name"},
    {"NodeAllocatableClaim", "overhead", "", kByKey, "name"},

    {"Node", "metadata", "ObjectMeta"},
    {"Node", "spec", "NodeSpec"},
    {"Node", "status", "NodeStatus"},
    {"NodeSpec", "podCIDRs", "", kAsSet, ""},
    {"NodeStatus", "conditions", "", kByKey, "type"},
    {"NodeStatus", "addresses", "", kByKey, "type"},

    {"Namespace", "metadata", "ObjectMeta"},
    {"Namespace", "status", "NamespaceStatus"},
    {"NamespaceStatus", "conditions", "", kByKey, "type"},

    {"ServiceAccount", "metadata", "ObjectMeta"},
    {"ServiceAccount", "secrets", "", kByKey, "name"},

    {"ResourceClaim", "metadata", "ObjectMeta"},
    {"ResourceClaim", "status", "ResourceClaimStatus"},
    {"ResourceClaimStatus", "reservedFor", "", kByKey, "uid"},
    {"ResourceClaimTemplate", "metadata", "ObjectMeta"},
    {"ResourceClaimTemplate", "spec", "ResourceClaimTemplateSpec"},
    {"ResourceClaimTemplateSpec", "metadata", "ObjectMeta"},
    {"DeviceTaintRule", "metadata", "ObjectMeta"},
    {"DeviceTaintRule", "status", "DeviceTaintRuleStatus"},
    {"DeviceTaintRuleStatus", "conditions", "", kByKey, "type"},

    {"Event", "metadata", "ObjectMeta"},
    {"Lease", "metadata", "ObjectMeta"},
    {"DeviceClass", "metadata", "ObjectMeta"},
    {"ResourceSlice", "metadata", "ObjectMeta"},
    {"CustomResourceDefinition", "metadata", "ObjectMeta"},
};

// Groups that kube-apiserver serves from compiled types; all others are custom resources.
constexpr std::string_view kBuiltInGroups[] = {"", "apiextensions.k8s.io", "coordination.k8s.io",
                                               "events.k8s.io", "resource.k8s.io"};

// The type of a whole object, e.g. "Pod", or "" for kinds that are not Kubernetes' own: a server
// refuses strategic patches of those.
std::string_view RootType(const kube::Resource& resource) {
  const bool built_in =
      std::ranges::find(kBuiltInGroups, resource.group) != std::end(kBuiltInGroups);
  return built_in ? std::string_view(resource.kind) : std::string_view();
}

// The rule of `type`'s `field`; one without a child and with atomic lists when there is none.
FieldRule RuleOf(std::string_view type, std::string_view field) {
  // A few dozen rows, looked at once for each member of a patch: no index is needed.
  const auto* it = std::ranges::find_if(
      kRules, [&](const FieldRule& rule) { return rule.type == type && rule.field == field; });
  return it != std::end(kRules) ? *it : FieldRule{type, field, ""};
}

// The directives of a strategic merge patch; they never become members of the object.
constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

Status MergeObject(std::string_view type, Json& target, const Json& patch);

bool IsDirective(std::string_view name) {
  return name == kPatch || name == kRetainKeys || name.starts_with(kDeletePrefix) ||
         name.starts_with(kOrderPrefix);
}

// "merge" (also when absent), "replace" or "delete".
StatusOr<std::string> PatchDirective(const Json& patch) {
  const Json* directive = patch.Find(kPatch);
  if (directive == nullptr) return std::string("merge");
  const std::string& text = directive->AsString();
  if (text != "merge" && text != "replace" && text != "delete") {
    return InvalidArgument("$patch is {}, must be \"merge\", \"replace\" or \"delete\"",
                           directive->Dump());
  }
  return text;
}

// The identity of an item in a list of `rule`: the value of the merge key, or the item itself.
const Json& IdentityOf(const FieldRule& rule, const Json& item) {
  return rule.merge == ListMerge::kByKey ? item[rule.key] : item;
}

std::size_t IndexOf(const FieldRule& rule, const Json::Array& items, const Json& identity) {
  // The size of the list when no item has that identity.
  const auto it = std::ranges::find_if(
      items, [&](const Json& item) { return IdentityOf(rule, item) == identity; });
  return static_cast<std::size_t>(it - items.begin());
}

// Each item is searched in the whole list, so the cost grows with the square.
Status CheckSize(const Json::Array& items) {
  if (items.size() <= kMergeListItemsMax) return OkStatus();
  return InvalidArgument("a list of {} items, at most {} can be merged", items.size(),
                         kMergeListItemsMax);
}

Status CheckKey(const FieldRule& rule, const Json& item) {
  if (!item.is_object()) return InvalidArgument("each item must be an object");
  if (item[rule.key].is_null()) {
    return InvalidArgument("an item lacks its merge key \"{}\"", rule.key);
  }
  return OkStatus();
}

// `$patch: replace` as an item: the other items are the whole new list.
Status ReplaceList(const FieldRule& rule, Json::Array& target, const Json::Array& patch) {
  target.clear();
  for (const Json& item : patch) {
    // The directive's own item is not data.
    if (item.Has(kPatch)) continue;
    Json fresh = Json::Object{};
    RETURN_IF_ERROR(CheckKey(rule, item));
    RETURN_IF_ERROR(MergeObject(rule.child, fresh, item));
    target.push_back(std::move(fresh));
  }
  return OkStatus();
}

// One item of a patch into the list: deletes, changes or appends.
Status MergeItem(const FieldRule& rule, Json::Array& target, const Json& item) {
  RETURN_IF_ERROR(CheckKey(rule, item));
  ASSIGN_OR_RETURN(const std::string directive, PatchDirective(item));
  const Json& identity = item[rule.key];
  if (directive == "delete") {
    // All of them, since the stored list may hold one key twice.
    std::erase_if(target, [&](const Json& old) { return old[rule.key] == identity; });
    return OkStatus();
  }
  const std::size_t index = IndexOf(rule, target, identity);
  // Merged into an empty object rather than copied: the item may contain directives.
  if (index == target.size()) target.emplace_back(Json::Object{});
  return MergeObject(rule.child, target[index], item);
}

Status MergeKeyedList(const FieldRule& rule, Json::Array& target, const Json::Array& patch) {
  const bool replace = std::ranges::any_of(
      patch, [](const Json& item) { return item[kPatch].AsString() == "replace"; });
  if (replace) return ReplaceList(rule, target, patch);
  for (const Json& item : patch) RETURN_IF_ERROR(MergeItem(rule, target, item));
  return OkStatus();
}

void MergeSet(const FieldRule& rule, Json::Array& target, const Json::Array& patch) {
  for (const Json& item : patch) {
    if (IndexOf(rule, target, item) == target.size()) target.push_back(item);
  }
}

Status MergeList(const FieldRule& rule, Json& target, const Json& patch) {
  // A value of another type, or none, is replaced by the patch's.
  if (!target.is_array()) target = Json::Array{};
  if (rule.merge != ListMerge::kAtomic) RETURN_IF_ERROR(CheckSize(patch.items()));
  switch (rule.merge) {
    case ListMerge::kAtomic:
      target = patch;
      return OkStatus();
    case ListMerge::kSet:
      MergeSet(rule, target.MutableItems(), patch.items());
      return OkStatus();
    case ListMerge::kByKey:
      return MergeKeyedList(rule, target.MutableItems(), patch.items());
  }
  GALEN_UNREACHABLE();
}

// Absent members are merged into an empty value, so that directives and nulls below them are not
// stored.
Status MergeMember(const FieldRule& rule, Json& target, const Json& patch) {
  if (patch.is_array()) return MergeList(rule, target, patch);
  if (!patch.is_object()) {
    target = patch;
    return OkStatus();
  }
  if (!target.is_object()) target = Json::Object{};
  return MergeObject(rule.child, target, patch);
}

// $retainKeys: members of the object that the list does not name go away (one-of fields).
Status RetainKeys(Json& target, const Json& patch) {
  const Json* keys = patch.Find(kRetainKeys);
  if (keys == nullptr) return OkStatus();
  if (!keys->is_array()) return InvalidArgument("$retainKeys must be a list of names");
  RETURN_IF_ERROR(Annotate(CheckSize(keys->items()), "$retainKeys"));
  const auto named = [&](const std::string& name) {
    return std::ranges::find(keys->items(), Json(name)) != keys->items().end();
  };
  for (const auto& [name, value] : patch.members()) {
    if (!IsDirective(name) && !value.is_null() && !named(name)) {
      return InvalidArgument("$retainKeys lacks \"{}\", which the patch sets", name);
    }
  }
  std::erase_if(target.MutableMembers(), [&](const auto& member) { return !named(member.first); });
  return OkStatus();
}

// $deleteFromPrimitiveList/finalizers: ["a"] takes plain values out of a list (finalizers and their
// like), whatever the list's own strategy is.
Status DeleteFromPrimitiveLists(Json& target, const Json& patch) {
  for (const auto& [name, values] : patch.members()) {
    if (!name.starts_with(kDeletePrefix)) continue;
    if (!values.is_array()) return InvalidArgument("{} must be a list", name);
    RETURN_IF_ERROR(Annotate(CheckSize(values.items()), "{}", name));
    const std::string field = name.substr(kDeletePrefix.size());
    const auto it = target.MutableMembers().find(field);
    // A missing list is no fault: the patch may be repeated.
    if (it == target.MutableMembers().end() || !it->second.is_array()) continue;
    std::erase_if(it->second.MutableItems(), [&](const Json& item) {
      return std::ranges::find(values.items(), item) != values.items().end();
    });
  }
  return OkStatus();
}

// An item with its position in the wanted order and in the old list.
struct Placed {
  std::size_t rank;
  std::size_t place;
  Json item;
};

// Puts the items that `order` names into its order; the others keep their places relative to the
// list as it was before (`before`), as kubectl apply expects of the server.
void SetOrder(const FieldRule& rule, Json::Array& items, const Json::Array& before,
              const Json::Array& order) {
  std::vector<Placed> named, others;
  for (Json& item : items) {
    const Json& identity = IdentityOf(rule, item);
    const std::size_t rank = IndexOf(rule, order, identity);
    const std::size_t place = IndexOf(rule, before, identity);
    Placed placed{rank, place, std::move(item)};
    if (rank == order.size()) {
      others.push_back(std::move(placed));
    } else {
      named.insert(std::ranges::upper_bound(named, rank, {}, &Placed::rank), std::move(placed));
    }
  }
  items.clear();
  auto other = others.begin();
  for (Placed& next : named) {
    const bool known = next.place < before.size();
    while (known && other != others.end() && other->place < next.place) {
      items.push_back(std::move((other++)->item));
    }
    items.push_back(std::move(next.item));
  }
  for (; other != others.end(); ++other) items.push_back(std::move(other->item));
}

Status CheckOrder(const FieldRule& rule, const Json& order, const Json& own_list) {
  if (!order.is_array()) return InvalidArgument("must be a list");
  // The patch's list is the whole new list, in its own order.
  if (rule.merge == ListMerge::kAtomic) {
    return InvalidArgument("the list does not merge, so it has no order to set");
  }
  RETURN_IF_ERROR(CheckSize(order.items()));
  for (const Json& item : own_list.items()) {
    if (item.Has(kPatch)) continue;
    if (IndexOf(rule, order.items(), IdentityOf(rule, item)) == order.items().size()) {
      return InvalidArgument("lacks an item of the patch's own list");
    }
  }
  return OkStatus();
}

Status SetElementOrders(std::string_view type, Json& target, const Json& before,
                        const Json& patch) {
  for (const auto& [name, order] : patch.members()) {
    if (!name.starts_with(kOrderPrefix)) continue;
    const std::string field = name.substr(kOrderPrefix.size());
    const FieldRule rule = RuleOf(type, field);
    RETURN_IF_ERROR(Annotate(CheckOrder(rule, order, patch[field]), "{}", name));
    const auto it = target.MutableMembers().find(field);
    if (it == target.MutableMembers().end() || !it->second.is_array()) continue;
    SetOrder(rule, it->second.MutableItems(), before[field].items(), order.items());
  }
  return OkStatus();
}

bool HasOrder(const Json& patch) {
  return std::ranges::any_of(
      patch.members(), [](const auto& member) { return member.first.starts_with(kOrderPrefix); });
}

Status MergeMembers(std::string_view type, Json& target, const Json& patch) {
  for (const auto& [name, value] : patch.members()) {
    if (IsDirective(name)) continue;
    if (value.is_null()) {
      target.Erase(name);
      continue;
    }
    RETURN_IF_ERROR(Annotate(MergeMember(RuleOf(type, name), target[name], value), "{}", name));
  }
  return OkStatus();
}

Status MergeObject(std::string_view type, Json& target, const Json& patch) {
  ASSIGN_OR_RETURN(const std::string directive, PatchDirective(patch));
  if (directive != "merge") target = Json::Object{};
  // In a list item this directive removes the item; here the object becomes empty.
  if (directive == "delete") return OkStatus();
  // Copied only if the patch sets an order, which needs the old positions.
  const Json before = HasOrder(patch) ? target : Json();
  // Removals first, then merging, then the order of the result.
  RETURN_IF_ERROR(RetainKeys(target, patch));
  RETURN_IF_ERROR(DeleteFromPrimitiveLists(target, patch));
  RETURN_IF_ERROR(MergeMembers(type, target, patch));
  return SetElementOrders(type, target, before, patch);
}

}  // namespace

Status ApplyStrategicPatch(const kube::Resource& resource, Json& object, const Json& patch) {
  const std::string_view type = RootType(resource);
  if (type.empty()) {
    return Unimplemented(
        "strategic merge patches are for built-in kinds, {}.{} is a custom one: "
        "use application/merge-patch+json or application/apply-patch+yaml",
        resource.plural, resource.group);
  }
  if (!patch.is_object()) return InvalidArgument("a strategic merge patch must be a JSON object");
  // On a copy: a fault in the last member must leave the object as it was.
  Json copy = object.is_object() ? object : Json(Json::Object{});
  RETURN_IF_ERROR(MergeObject(type, copy, patch));
  object = std::move(copy);
  return OkStatus();
}

}  // namespace galen::api_sim
