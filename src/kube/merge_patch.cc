#include "kube/merge_patch.h"

#include <utility>

namespace galen::kube {
namespace {

// The pseudocode of RFC 7386, section 2.
void MergeInto(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Json::Object{};
  for (const auto& [name, value] : patch.members()) {
    if (value.is_null()) {
      target.Erase(name);
    } else {
      MergeInto(target[name], value);
    }
  }
}

}  // namespace

Status ApplyMergePatch(Json& object, const Json& patch) {
  if (!patch.is_object()) return InvalidArgument("a merge patch must be a JSON object");
  MergeInto(object, patch);
  return OkStatus();
}

Json CreateMergePatch(const Json& before, const Json& after) {
  Json patch = Json::Object{};
  for (const auto& [name, old_value] : before.members()) {
    // A member that went away is written as null; one that was absent or null before is left out.
    if (!old_value.is_null() && after[name].is_null()) patch[name] = nullptr;
  }
  for (const auto& [name, value] : after.members()) {
    const Json& old_value = before[name];
    if (value.is_null() || value == old_value) continue;
    Json difference =
        value.is_object() && old_value.is_object() ? CreateMergePatch(old_value, value) : value;
    // Two objects that differ only in nulls leave nothing to say.
    const bool nothing = old_value.is_object() && difference == Json(Json::Object{});
    if (!nothing || !value.is_object()) patch[name] = std::move(difference);
  }
  return patch;
}

}  // namespace galen::kube
