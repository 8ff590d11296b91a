// Device selectors, which whoever may make a claim writes.
#include "alloc/cel/program.h"
#include "alloc/cel/test_selector.h"
#include "base/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

using alloc::cel::Outcome;
using alloc::cel::Program;

// A device in what a program reads, and in nothing else.
alloc::DeviceFacts OnlyWhatIsRead(const alloc::DeviceFacts& device,
                                  const alloc::cel::Reads& reads) {
  alloc::DeviceFacts same;
  if (reads.driver) same.driver = device.driver;
  if (reads.allow_multiple_allocations) {
    same.allow_multiple_allocations = device.allow_multiple_allocations;
  }
  for (const auto& name : reads.attributes) {
    const auto* value = Find(device.attributes, name.domain, name.id);
    if (value != nullptr) same.attributes.emplace_back(name, *value);
  }
  for (const auto& name : reads.capacity) {
    const auto* value = Find(device.capacity, name.domain, name.id);
    if (value != nullptr) same.capacity.emplace_back(name, *value);
  }
  return same;
}

}  // namespace

// Whatever is written, it compiles or says why not; and what compiles answers a device by what it
// says it reads of it.
void FuzzCel(std::string_view bytes) {
  Input input(bytes);
  const int minor = 34 + input.Byte() % 4;
  const auto program = Program::Compile(input.Rest(), {.minor = minor});
  if (!program.ok()) {
    GALEN_CHECK(!program.status().message().empty());
    return;
  }
  const alloc::DeviceFacts device = alloc::cel::TestDevice();
  const Outcome outcome = program->Matches(device);
  GALEN_CHECK((outcome.kind == Outcome::Kind::kError) == !outcome.error.empty());
  GALEN_CHECK(program->Matches(device) == outcome);
  if (program->reads().everything) return;
  GALEN_CHECK(program->Matches(OnlyWhatIsRead(device, program->reads())) == outcome);
}

}  // namespace galen::fuzz
