// Tested by selector_memo_test.cc.
#include "alloc/selection/interner.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace galen::alloc {
namespace {

// A text that two values share only if a selector and a constraint see them as one.
void AppendPart(std::string& key, bool value) { key += value ? "1" : "0"; }
void AppendPart(std::string& key, std::int64_t value) { key += std::to_string(value); }
void AppendPart(std::string& key, const std::string& value) {
  key += std::to_string(value.size()) + ":" + value;
}
void AppendPart(std::string& key, const SemanticVersion& value) { AppendPart(key, value.text); }

template <typename T>
void AppendPart(std::string& key, const std::vector<T>& values) {
  for (const T& value : values) {
    AppendPart(key, value);
    key += ',';
  }
}
void AppendPart(std::string& key, const std::vector<bool>& values) {
  for (const bool value : values) AppendPart(key, value);
}
void AppendPart(std::string&, UnknownKind) {}

constexpr std::size_t kFirstList = 5;  // index in AttributeValue

template <typename T>
void AddElements(const std::vector<T>& list, std::vector<AttributeValue>& elements) {
  for (const auto& element : list) elements.emplace_back(T(element));
}
template <typename T>
void AddElements(const T&, std::vector<AttributeValue>&) {}

std::vector<AttributeValue> ElementsOfList(const AttributeValue& list) {
  std::vector<AttributeValue> elements;
  std::visit([&elements](const auto& held) { AddElements(held, elements); }, list);
  return elements;
}

}  // namespace

std::uint32_t Interner::Add(Table& table, const std::string& key) {
  return table.try_emplace(key, static_cast<std::uint32_t>(table.size())).first->second;
}

std::uint32_t Interner::Find(const std::string& key) const {
  const auto at = names_.find(key);
  return at == names_.end() ? kNoName : at->second;
}

std::uint32_t Interner::AddKey(const std::string& key, bool single) {
  const auto [at, added] = values_.try_emplace(key, static_cast<std::uint32_t>(single_.size()));
  if (added) {
    single_.push_back(single);
    elements_.push_back(single ? std::vector{at->second} : std::vector<std::uint32_t>());
  }
  return at->second;
}

std::uint32_t Interner::AddValue(const AttributeValue& value) {
  std::string key(1, static_cast<char>('0' + value.index()));
  std::visit([&key](const auto& held) { AppendPart(key, held); }, value);
  const bool is_list = value.index() >= kFirstList;
  const std::uint32_t number = AddKey(key, value.index() > 0 && !is_list);
  if (is_list && elements_[number].empty()) {
    std::vector<std::uint32_t> elements;
    for (const AttributeValue& element : ElementsOfList(value))
      elements.push_back(AddValue(element));
    elements_[number] = std::move(elements);
  }
  return number;
}

std::uint32_t Interner::AddValue(const Quantity& value) {
  const __int128 nano = value.nano();
  return AddKey(fmt::format("q{}.{}.{}", static_cast<std::int64_t>(nano >> 64),
                            static_cast<std::uint64_t>(nano), static_cast<int>(value.format())),
                false);
}

}  // namespace galen::alloc
