// Tested by selector_memo_test.cc.
#include "alloc/selection/cel_engine.h"

#include <utility>

#include "alloc/cel/program.h"

namespace galen::alloc {
namespace {

class CelSelector final : public Selector {
 public:
  explicit CelSelector(cel::Program program) : program_(std::move(program)) {}

  const cel::Reads& reads() const override { return program_.reads(); }
  cel::Outcome Matches(const DeviceFacts& device) const override {
    return program_.Matches(device);
  }

 private:
  const cel::Program program_;
};

}  // namespace

StatusOr<std::unique_ptr<Selector>> CelEngine::Compile(std::string_view expression) {
  ASSIGN_OR_RETURN(cel::Program program, cel::Program::Compile(expression, {.minor = minor_}));
  return std::unique_ptr<Selector>(std::make_unique<CelSelector>(std::move(program)));
}

}  // namespace galen::alloc
