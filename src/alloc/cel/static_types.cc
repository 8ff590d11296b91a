// Tested by checker_test.cc.
#include "alloc/cel/static_types.h"

namespace galen::alloc::cel {
namespace {

// device.attributes and device.capacity: domain to name to value.
const Type* DomainsOf(TypeKind value, TypePool& pool) {
  const Type* text = Simple(TypeKind::kString);
  return pool.Map(text, pool.Map(text, Simple(value)));
}

}  // namespace

const Type* TypeOfConstant(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
      return Simple(TypeKind::kBool);
    case Kind::kInt:
      return Simple(TypeKind::kInt);
    case Kind::kUint:
      return Simple(TypeKind::kUint);
    case Kind::kDouble:
      return Simple(TypeKind::kDouble);
    case Kind::kString:
      return Simple(TypeKind::kString);
    case Kind::kBytes:
      return Simple(TypeKind::kBytes);
    default:
      return Simple(TypeKind::kNull);
  }
}

TypeKind KindOfAttributes(Environment environment) {
  return environment.minor >= 37 ? TypeKind::kDyn : TypeKind::kAny;
}

const Type* TypeOfDeviceField(std::string_view field, Environment environment, TypePool& pool) {
  if (field == "driver") return Simple(TypeKind::kString);
  if (field == "allowMultipleAllocations") return Simple(TypeKind::kBool);
  if (field == "attributes") return DomainsOf(KindOfAttributes(environment), pool);
  return field == "capacity" ? DomainsOf(TypeKind::kQuantity, pool) : nullptr;
}

}  // namespace galen::alloc::cel
