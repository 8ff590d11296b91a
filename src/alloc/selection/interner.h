// Names and values of devices as small numbers: what is equal has one number. Values by meaning, so
// that 1Gi and 1024Mi differ only where a reader could see it. Built once, then read by any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "alloc/device_facts.h"
#include "alloc/quantity.h"

namespace galen::alloc {

class Interner {
 public:
  // Never a value's number: what is absent.
  static constexpr std::uint32_t kAbsent = 0;
  static constexpr std::uint32_t kNoName = 0xffffffff;

  std::uint32_t AddAttributeName(const QualifiedName& name) { return Add(names_, 'a' + Key(name)); }
  std::uint32_t AddCapacityName(const QualifiedName& name) { return Add(names_, 'c' + Key(name)); }
  std::uint32_t AddValue(const AttributeValue& value);
  std::uint32_t AddValue(const Quantity& value);

  // kNoName: no device has such an attribute, such a capacity.
  std::uint32_t AttributeName(const QualifiedName& name) const { return Find('a' + Key(name)); }
  std::uint32_t CapacityName(const QualifiedName& name) const { return Find('c' + Key(name)); }
  // Whether matchAttribute can compare it: one bool, integer, text or version.
  bool IsSingle(std::uint32_t value) const { return single_[value]; }
  // The numbers of a list's elements, or the value's own; none of an unknown kind.
  const std::vector<std::uint32_t>& ElementsOf(std::uint32_t value) const {
    return elements_[value];
  }

 private:
  using Table = std::unordered_map<std::string, std::uint32_t>;

  static std::string Key(const QualifiedName& name) { return ToString(name); }
  static std::uint32_t Add(Table& table, const std::string& key);
  std::uint32_t Find(const std::string& key) const;
  std::uint32_t AddKey(const std::string& key, bool single);

  Table names_;
  Table values_;
  std::vector<bool> single_ = {false};  // by value, as the next
  std::vector<std::vector<std::uint32_t>> elements_ = {{}};
};

}  // namespace galen::alloc
