// What one evaluation makes, and how much it may. Everything lives until the arena ends. Belongs to
// one thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "alloc/cel/values/value.h"

namespace galen::alloc::cel {

class Arena {
 public:
  // Our own bounds beside CEL's cost, which does not see what a function makes or walks through.
  // What makes it may need as much again, a few times.
  static constexpr std::size_t kBytesMax = 2 << 20;
  static constexpr std::uint64_t kStepsMax = 1'000'000;
  // A step looks at one value, or at so many bytes of a text.
  static constexpr std::size_t kBytesOfAStep = 10;

  Arena() : memory_(buffer_.data(), buffer_.size()) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Adds to CEL's cost.
  void Charge(std::uint64_t cost) { cost_ = cost_ + cost < cost_ ? UINT64_MAX : cost_ + cost; }
  // REQUIRES: as much was charged.
  void Refund(std::uint64_t cost) { cost_ -= cost; }
  std::uint64_t cost() const { return cost_; }

  // An error with a text of its own.
  template <typename... Args>
  Value Fail(fmt::format_string<Args...> format, Args&&... args) {
    return Value::Error(Keep(fmt::format(format, std::forward<Args>(args)...)));
  }

  // Whether so many bytes more fit, and so many steps more; the errors when they do not, which
  // nothing absorbs (over()). Work() and Room() beyond the bounds are over by themselves.
  bool Holds(std::size_t bytes) const { return bytes_ <= kBytesMax && bytes <= kBytesMax - bytes_; }
  Value TooLarge();
  bool Work(std::uint64_t steps) {
    steps_ = steps > kStepsMax ? kStepsMax + 1 : std::min(steps_ + steps, kStepsMax + 1);
    over_ = over_ || steps_ > kStepsMax;
    return steps_ <= kStepsMax;
  }
  // The same for looking through a text once, or at anything else.
  bool WorkOn(const Value& value) {
    if (value.is(Kind::kSemver)) return Work(1 + value.version().text.size() / kBytesOfAStep);
    return Work(1 + (value.IsText() ? value.text().size() / kBytesOfAStep : 0));
  }
  Value OverWork();
  // An error that takes no memory: what is evaluated after a bound was passed.
  Value Stopped();
  bool over() const { return over_; }
  std::uint64_t steps() const { return steps_; }

  // Copies. REQUIRES, for all that follow: Holds(), or a size that follows from the program's text.
  std::string_view Keep(std::string_view text);
  const Quantity* Keep(const Quantity& quantity) { return Make<Quantity>(quantity); }
  const SemanticVersion* Keep(SemanticVersion version);
  const Value* Keep(const Value& value) { return Make<Value>(value); }
  Value MakeList(std::span<const Value> items);
  // One after the other: of short lists a copy, and of what was joined very often.
  Value Join(const Value& left, const Value& right);
  // REQUIRES: no two equal keys.
  Value MakeMap(std::span<const MapEntry> entries, bool has_default = false);
  // Room for `count` of them, not set.
  template <typename T>
  T* Room(std::size_t count) {
    Count(count * sizeof(T));
    return static_cast<T*>(memory_.allocate(count * sizeof(T), alignof(T)));
  }

 private:
  void Count(std::size_t bytes) {
    bytes_ += bytes;
    over_ = over_ || bytes_ > kBytesMax;
  }
  template <typename T>
  const T* Make(const T& value) {
    return new (Room<T>(1)) T(value);
  }

  // Enough for most selectors.
  alignas(std::max_align_t) std::array<std::byte, 1024> buffer_;
  std::pmr::monotonic_buffer_resource memory_;
  std::forward_list<SemanticVersion> versions_;
  std::size_t bytes_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t cost_ = 0;
  bool over_ = false;
};

// Entries of a map that grows, and where each key is.
class MapBuilder {
 public:
  // False when the key finds an entry already, which stays.
  bool Insert(const Value& key, const Value& value);
  // Overwrites the entry of the same key and kind.
  void Set(const Value& key, const Value& value);
  void Remove(const Value& key);
  Value Build(Arena& arena) const;
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  using Same = bool (*)(const Value& key, const Value& entry);
  std::uint32_t IndexOf(const Value& key, Same same) const;
  void Append(const Value& key, const Value& value);
  void Grow();

  std::vector<MapEntry> entries_;
  std::vector<std::uint32_t> places_;
};

}  // namespace galen::alloc::cel
