// Walks the fields of one protobuf message as they lie in memory, without a schema and without
// copying. For what strangers send: generated parsers refuse a whole message for one broken UTF-8
// text, and one device's bad text must not cost the others their report. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace galen::rpc {

class WireFields {
 public:
  enum class Type { kVarint, kFixed64, kBytes, kFixed32 };
  // One field of the message, as it is on the wire.
  struct Field {
    std::uint32_t number = 0;
    Type type = Type::kVarint;
    std::uint64_t number_value = 0;  // of kVarint, kFixed64, kFixed32
    std::string_view bytes;          // of kBytes
  };

  explicit WireFields(std::string_view message) : rest_(message) {}

  // The next field, or nullopt at the end or at the first malformed byte.
  std::optional<Field> Next();
  // Whether the walk ended at a malformed byte.
  bool broken() const { return broken_; }

 private:
  std::optional<Field> Broken();
  std::optional<std::uint64_t> TakeVarint();
  std::optional<std::uint64_t> TakeFixed(std::size_t bytes);
  std::optional<std::string_view> TakeBytes();

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace galen::rpc
