// Signatures of functions as texts: "(list<A>, A) int", where a single capital letter is a type
// that the call decides. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "alloc/cel/library/type.h"

namespace galen::alloc::cel {

struct Signature {
  std::vector<const Type*> arguments = {};
  const Type* result = nullptr;
  // How many different ones the capital letters are.
  std::size_t variables = 0;
};
// The types live in the pool. REQUIRES: a signature; it is our own table's.
Signature ParseSignature(std::string_view text, TypePool& pool);

}  // namespace galen::alloc::cel
