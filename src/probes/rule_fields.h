// The fields of a row of a rules file: one table, which the reader and the published schema are
// both made from, so that neither has a field that the other lacks. Constant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace galen::probes {

// The lists of a rules file.
enum class RowKind { kExporter, kSign, kRule };

// The type of a field.
enum class FieldType {
  kText,    // a number counts as its text
  kNumber,  // finite
  kCount,   // a whole number from 1 to kCountMax
  kTime,    // "250ms", "30s", "1h30m"
  kSwitch,
  kTexts,   // a list
  kLabels,  // a mapping of names to texts
  kShare,   // above 0 and up to 1, or "ratio"
};

// A field of a row, as the reader takes it and the schema shows it.
struct Field {
  std::string_view name;
  FieldType type = FieldType::kText;
  std::string_view help{};
  bool required = false;
  // The texts that it can be, where these are few: "a b c".
  std::string_view choices{};
};

// In the order in which people read them.
std::span<const Field> FieldsOf(RowKind kind);
// nullptr when rows of this kind have no such field.
const Field* FindField(RowKind kind, std::string_view name);

// "; is it `file`?" of the field that the name is likely meant to be; "" where none is like it.
std::string NearField(RowKind kind, std::string_view name);

}  // namespace galen::probes
