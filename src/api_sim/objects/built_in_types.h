// The schemas of the built-in kinds. Pure; free of threads.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "base/data/json.h"

namespace galen::api_sim {

// The structural schema of a whole object, with list types and defaults, in the form in which
// CustomResourceDefinitions give theirs. Made at each call. REQUIRES: a kind of built_in_kinds.cc.
Json BuiltInSchema(std::string_view kind);

// ---- A short way to write down the fields of Kubernetes' types, compiled into structural schemas.
// A line is "Type: field field …", continued by indented lines. A field is
//   name              a string
//   name:T            T is string, int, number, bool, time, quantity (number or string), any
//                     (anything goes), map (of strings), map.T, or another type of the text
//   …@                an object that merges as one value
//   …[]  …{}  …[a,b]  a list that is replaced whole, a set, a list keyed by members a and b
//   …=value           its default: JSON, or else a string

// Compiles a text of types. Immutable once made; any thread. A text that is not well formed, or a
// type that it does not name, crashes the process. REQUIRES: the texts are ours, and types do not
// contain themselves.
class TypeNotation {
 public:
  // The texts count as one; types may be used before they are named.
  explicit TypeNotation(std::initializer_list<std::string_view> texts);

  // The schema of `type` with apiVersion and kind added. Walks all types below it at each call.
  Json SchemaOfKind(std::string_view type) const;

 private:
  Json ObjectOf(std::string_view type) const;
  Json FieldSchema(std::string_view spelling) const;
  Json ValueSchema(std::string_view type) const;

  std::map<std::string, std::string, std::less<>> fields_;  // type → its fields, as written
};

}  // namespace galen::api_sim
