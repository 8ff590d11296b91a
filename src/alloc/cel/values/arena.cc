#include "alloc/cel/values/arena.h"

#include <algorithm>
#include <cstring>

namespace galen::alloc::cel {
namespace {

// Lists up to so many elements are copied by `+`: reading them is quicker.
constexpr std::size_t kJoinedSizeMin = 256;
// Reading an element of a list that was joined passes at most so many lists. Doubling one more
// often overflows its size.
constexpr int kJoinedDepthMax = 64;
// A map of so many entries or more is read by hash.
constexpr std::size_t kHashedSizeMin = 16;

std::size_t PlacesFor(std::size_t entries) {
  std::size_t places = 32;
  while (places < entries * 2) places *= 2;
  return places;
}

// REQUIRES: places_count is a power of two, and larger than the number of entries.
void PutPlaces(std::span<const MapEntry> entries, std::span<std::uint32_t> places) {
  std::fill(places.begin(), places.end(), 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::size_t place = HashOf(entries[i].key);
    while (places[place & (places.size() - 1)] != 0) ++place;
    places[place & (places.size() - 1)] = static_cast<std::uint32_t>(i + 1);
  }
}

}  // namespace

Value Arena::TooLarge() {
  over_ = true;
  return Fail("the evaluation needs more than {} MiB", kBytesMax >> 20);
}

Value Arena::OverWork() {
  over_ = true;
  return Fail("the evaluation walks through more than {} values", kStepsMax);
}

Value Arena::Stopped() {
  over_ = true;
  return Value::Error("the evaluation takes too much memory or time");
}

std::string_view Arena::Keep(std::string_view text) {
  if (text.empty()) return {};
  char* copy = Room<char>(text.size());
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

const SemanticVersion* Arena::Keep(SemanticVersion version) {
  Count(sizeof(SemanticVersion) + version.text.size());
  versions_.push_front(std::move(version));
  return &versions_.front();
}

Value Arena::MakeList(std::span<const Value> items) {
  Value* copy = Room<Value>(std::max<std::size_t>(items.size(), 1));
  std::copy(items.begin(), items.end(), copy);
  return Value::Of(Make<List>({.size = items.size(), .items = copy}));
}

Value Arena::Join(const Value& left, const Value& right) {
  // What was too large to make is an error, and stays one.
  if (left.kind() != Kind::kList) return left;
  if (right.kind() != Kind::kList) return right;
  const List& head = left.list();
  const List& tail = right.list();
  if (head.size == 0) return right;
  if (tail.size == 0) return left;
  const std::size_t size = head.size + tail.size;
  if (size < head.size) return TooLarge();
  const int depth = std::max(head.depth, tail.depth) + 1;
  if (size >= kJoinedSizeMin && depth <= kJoinedDepthMax) {
    return Value::Of(Make<List>({.size = size, .head = &head, .tail = &tail, .depth = depth}));
  }
  if (!Work(size)) return OverWork();
  if (!Holds(size * sizeof(Value))) return TooLarge();
  Value* items = Room<Value>(size);
  for (std::size_t i = 0; i < size; ++i) {
    items[i] = i < head.size ? At(head, i) : At(tail, i - head.size);
  }
  return Value::Of(Make<List>({.size = size, .items = items}));
}

Value Arena::MakeMap(std::span<const MapEntry> entries, bool has_default) {
  MapEntry* copy = Room<MapEntry>(std::max<std::size_t>(entries.size(), 1));
  std::copy(entries.begin(), entries.end(), copy);
  Map map{.size = entries.size(), .entries = copy, .has_default = has_default};
  if (entries.size() >= kHashedSizeMin) {
    map.place_count = PlacesFor(entries.size());
    auto* places = Room<std::uint32_t>(map.place_count);
    PutPlaces(entries, {places, map.place_count});
    map.places = places;
  }
  return Value::Of(Make<Map>(map));
}

std::uint32_t MapBuilder::IndexOf(const Value& key, Same same) const {
  if (places_.empty()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (same(key, entries_[i].key)) return static_cast<std::uint32_t>(i);
    }
    return kNone;
  }
  for (std::size_t place = HashOf(key);; ++place) {
    const std::uint32_t at = places_[place & (places_.size() - 1)];
    if (at == 0) return kNone;
    if (same(key, entries_[at - 1].key)) return at - 1;
  }
}

void MapBuilder::Grow() {
  places_.resize(PlacesFor(entries_.size()));
  PutPlaces(entries_, places_);
}

void MapBuilder::Append(const Value& key, const Value& value) {
  entries_.push_back({key, value});
  if (entries_.size() < kHashedSizeMin) return;
  if (places_.size() < entries_.size() * 2) return Grow();
  std::size_t place = HashOf(key);
  while (places_[place & (places_.size() - 1)] != 0) ++place;
  places_[place & (places_.size() - 1)] = static_cast<std::uint32_t>(entries_.size());
}

bool MapBuilder::Insert(const Value& key, const Value& value) {
  if (IndexOf(key, Opens) != kNone) return false;
  Append(key, value);
  return true;
}

void MapBuilder::Set(const Value& key, const Value& value) {
  const std::uint32_t at = IndexOf(key, IsSameKey);
  if (at == kNone) return Append(key, value);
  entries_[at].value = value;
}

void MapBuilder::Remove(const Value& key) {
  const std::uint32_t at = IndexOf(key, IsSameKey);
  if (at == kNone) return;
  entries_.erase(entries_.begin() + at);
  if (!places_.empty()) Grow();
}

Value MapBuilder::Build(Arena& arena) const { return arena.MakeMap(entries_); }

}  // namespace galen::alloc::cel
