// Tested by evaluator_test.cc.
#include "alloc/cel/device_values.h"

#include <vector>

namespace galen::alloc::cel {
namespace {

Value ScalarOf(bool value) { return Value::Bool(value); }
Value ScalarOf(std::int64_t value) { return Value::Int(value); }
Value ScalarOf(const std::string& value) { return Value::String(value); }
Value ScalarOf(const SemanticVersion& value) { return Value::Of(&value); }

template <typename Element>
Value ListOfScalars(const std::vector<Element>& elements, Arena& arena) {
  std::vector<Value> values;
  for (const auto& element : elements) values.push_back(ScalarOf(element));
  return arena.MakeList(values);
}

Value ListOfScalars(const std::vector<bool>& elements, Arena& arena) {
  std::vector<Value> values;
  for (const bool element : elements) values.push_back(Value::Bool(element));
  return arena.MakeList(values);
}

// Makes a value of any kind of attribute.
struct AttributeReader {
  Arena& arena;

  Value operator()(const UnknownKind&) const { return arena.Fail("unsupported attribute value"); }
  template <typename Element>
  Value operator()(const std::vector<Element>& elements) const {
    return ListOfScalars(elements, arena);
  }
  template <typename Scalar>
  Value operator()(const Scalar& scalar) const {
    return ScalarOf(scalar);
  }
};

Value ValueOfEntry(const AttributeValue& attribute, Arena& arena) {
  return ValueOf(attribute, arena);
}
Value ValueOfEntry(const Quantity& quantity, Arena&) { return Value::Of(&quantity); }

template <typename Entry>
using Entries = std::vector<std::pair<QualifiedName, Entry>>;

// id to value, of one domain.
template <typename Entry>
Value DomainMap(const Entries<Entry>& entries, std::string_view domain, Arena& arena) {
  std::vector<MapEntry> map;
  for (const auto& [name, value] : entries) {
    if (name.domain != domain) continue;
    map.push_back({Value::String(name.id), ValueOfEntry(value, arena)});
  }
  return arena.MakeMap(map);
}

// Domain to id to value. The entries are ordered by name.
template <typename Entry>
Value MapOfDomains(const Entries<Entry>& entries, Arena& arena) {
  std::vector<MapEntry> map;
  std::string_view before;
  for (const auto& [name, value] : entries) {
    if (!map.empty() && name.domain == before) continue;
    before = name.domain;
    map.push_back({Value::String(name.domain), DomainMap(entries, name.domain, arena)});
  }
  return arena.MakeMap(map, true);
}

Value WholeDevice(const DeviceFacts& device, Arena& arena) {
  const MapEntry fields[] = {
      {Value::String("driver"), Value::String(device.driver)},
      {Value::String("allowMultipleAllocations"), Value::Bool(device.allow_multiple_allocations)},
      {Value::String("attributes"), MapOfDomains(device.attributes, arena)},
      {Value::String("capacity"), MapOfDomains(device.capacity, arena)},
  };
  return arena.MakeMap(fields);
}

Value MissingKey(const Expression& read, Arena& arena) {
  return arena.Fail("no such key: {}", read.id);
}

}  // namespace

Value ValueOf(const AttributeValue& attribute, Arena& arena) {
  return std::visit(AttributeReader{arena}, attribute);
}

Value ReadPart(const Expression& read, const DeviceFacts& device, Arena& arena) {
  switch (read.part) {
    case Part::kDevice:
      return WholeDevice(device, arena);
    case Part::kDriver:
      return Value::String(device.driver);
    case Part::kAllowMultipleAllocations:
      return Value::Bool(device.allow_multiple_allocations);
    case Part::kAttributes:
      return MapOfDomains(device.attributes, arena);
    case Part::kCapacities:
      return MapOfDomains(device.capacity, arena);
    case Part::kAttributeDomain:
      return DomainMap(device.attributes, read.domain, arena);
    case Part::kCapacityDomain:
      return DomainMap(device.capacity, read.domain, arena);
    case Part::kAttribute: {
      const AttributeValue* value = Find(device.attributes, read.domain, read.id);
      return value == nullptr ? MissingKey(read, arena) : ValueOf(*value, arena);
    }
    case Part::kCapacity: {
      const Quantity* value = Find(device.capacity, read.domain, read.id);
      return value == nullptr ? MissingKey(read, arena) : Value::Of(value);
    }
    case Part::kNone:
      break;
  }
  GALEN_UNREACHABLE();
}

bool HasPart(const Expression& read, const DeviceFacts& device) {
  if (read.part == Part::kAttribute) {
    return Find(device.attributes, read.domain, read.id) != nullptr;
  }
  if (read.part == Part::kCapacity) return Find(device.capacity, read.domain, read.id) != nullptr;
  return true;
}

}  // namespace galen::alloc::cel
