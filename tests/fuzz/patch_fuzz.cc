// Patches: an object, a zero byte, a patch, and for apply a second patch behind another.
#include "api_sim/objects/kinds.h"
#include "api_sim/objects/schema.h"
#include "api_sim/patch/managed_fields.h"
#include "api_sim/patch/patch.h"
#include "base/check.h"
#include "kube/merge_patch.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

// A refused patch changes nothing on the object.
template <typename Patch>
void Apply(const Json& object, const Patch& patch) {
  Json patched = object;
  if (!patch(patched).ok()) GALEN_CHECK(patched == object);
}

const Json& PodSchema() {
  // Built once: it never changes, and costs more than all the rest.
  static const Json kSchema = api_sim::KindTable().Find("", "v1", "pods")->schema;
  return kSchema;
}

}  // namespace

void FuzzPatch(std::string_view bytes) {
  Input input(bytes);
  const StatusOr<Json> object = Json::Parse(input.Text());
  const StatusOr<Json> patch = Json::Parse(input.Text());
  if (!object.ok() || !patch.ok()) return;
  Apply(*object, [&](Json& value) { return api_sim::ApplyJsonPatch(value, *patch); });
  Apply(*object, [&](Json& value) { return kube::ApplyMergePatch(value, *patch); });
  Apply(*object,
        [&](Json& value) { return api_sim::ApplyStrategicPatch(kube::kPods, value, *patch); });
  // A patch from one to the other makes the other, and then there is nothing left to do.
  if (!object->is_object() || !patch->is_object()) return;
  Json value = *object;
  GALEN_CHECK(kube::ApplyMergePatch(value, kube::CreateMergePatch(*object, *patch)).ok());
  GALEN_CHECK(kube::CreateMergePatch(value, *patch).members().empty());
}

void FuzzApply(std::string_view bytes) {
  Input input(bytes);
  StatusOr<Json> live = Json::Parse(input.Text());
  StatusOr<Json> applied = Json::Parse(input.Text());
  if (!live.ok() || !applied.ok() || !live->is_object() || !applied->is_object()) return;
  const Json& schema = PodSchema();
  for (Json* object : {&*live, &*applied}) {
    api_sim::DropNulls(*object);
    static_cast<void>(api_sim::Prune(schema, *object));
    api_sim::ApplyDefaults(schema, *object);
  }
  // As the server does: only objects that the schema takes are merged.
  if (!api_sim::ValidateSchema(schema, *live).empty()) return;
  if (!api_sim::ValidateSchema(schema, *applied).empty()) return;
  const api_sim::FieldSet fields = api_sim::FieldsOf(schema, *applied);
  GALEN_CHECK(api_sim::FromFieldsV1(api_sim::ToFieldsV1(fields)) == fields);
  const Json merged = api_sim::MergeTyped(schema, *live, *applied);
  GALEN_CHECK(api_sim::MergeTyped(schema, merged, *applied) == merged);
  static_cast<void>(api_sim::Compare(schema, *live, merged));
  Json without = merged;
  api_sim::RemoveFields(schema, fields, api_sim::FieldSet(), without);
}

}  // namespace galen::fuzz
