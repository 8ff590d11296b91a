#include "rpc/wire_fields.h"

#include <cstddef>

namespace galen::rpc {

std::optional<WireFields::Field> WireFields::Next() {
  if (rest_.empty() || broken_) return std::nullopt;
  const std::optional<std::uint64_t> tag = TakeVarint();
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > 0x1fffffff) return Broken();
  Field field{.number = static_cast<std::uint32_t>(*tag >> 3)};
  std::optional<std::uint64_t> value = 0;
  switch (*tag & 7) {
    case 0:
      value = TakeVarint();
      break;
    case 1:
      field.type = Type::kFixed64;
      value = TakeFixed(8);
      break;
    case 2: {
      field.type = Type::kBytes;
      const std::optional<std::string_view> bytes = TakeBytes();
      if (!bytes) return Broken();
      field.bytes = *bytes;
      break;
    }
    case 5:
      field.type = Type::kFixed32;
      value = TakeFixed(4);
      break;
    default:  // groups ended with proto2; nobody sends them
      return Broken();
  }
  if (!value) return Broken();
  field.number_value = *value;
  return field;
}

std::optional<WireFields::Field> WireFields::Broken() {
  broken_ = true;
  return std::nullopt;
}

std::optional<std::uint64_t> WireFields::TakeVarint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    rest_.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> WireFields::TakeFixed(std::size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<std::string_view> WireFields::TakeBytes() {
  const std::optional<std::uint64_t> length = TakeVarint();
  if (!length || *length > rest_.size()) return std::nullopt;
  const std::string_view bytes = rest_.substr(0, *length);
  rest_.remove_prefix(*length);
  return bytes;
}

}  // namespace galen::rpc
