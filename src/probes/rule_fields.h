// Which fields a row of a rules file has: one table, of which the reader takes what it knows and
// the published schema what it says, so that neither has a field that the other lacks. Constant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace galen::probes {

// The lists of a rules file.
enum class RowKind { kExporter, kSign, kRule };

// What a field may hold.
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
  // What it can be, where that is one of a few texts: "a b c".
  std::string_view choices{};
};

// In the order in which people read them.
std::span<const Field> FieldsOf(RowKind kind);
// nullptr when rows of this kind have no such field.
const Field* FindField(RowKind kind, std::string_view name);

// "; is it `file`?" of the field that the name is likely meant to be; "" where none is like it.
std::string NearField(RowKind kind, std::string_view name);

}  // namespace galen::probes
