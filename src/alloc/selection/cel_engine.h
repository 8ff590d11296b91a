// Selectors by CEL, for an allocator. Any thread.
#pragma once

#include <memory>
#include <string_view>

#include "alloc/selection/selector_memo.h"

namespace galen::alloc {

class CelEngine final : public SelectorEngine {
 public:
  // As the release 1.`minor` evaluates them.
  explicit CelEngine(int minor) : minor_(minor) {}

  StatusOr<std::unique_ptr<Selector>> Compile(std::string_view expression) override;

 private:
  const int minor_;
};

}  // namespace galen::alloc
