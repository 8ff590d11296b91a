// A machine that runs PTX, as far as src/active/kernels.ptx uses it: so the kernels themselves are
// tested where there is no GPU. One thread of a grid after the other. Instructions are those of
// NVIDIA's "Parallel Thread Execution ISA"; anything that it does not know is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galen::e2e {

// A register, a number, or a parameter of the kernel.
struct PtxOperand {
  enum class Kind { kNone, kRegister, kNumber, kParameter } kind = Kind::kNone;
  std::uint64_t value = 0;   // the register's or parameter's place, or the number
  std::uint64_t offset = 0;  // of an address
};

enum class PtxOp {
  kMove,
  kAdd,
  kSubtract,
  kMultiply,
  kMultiplyWide,
  kMultiplyAdd,
  kFloatMultiplyAdd,
  kDivide,
  kRemainder,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
  kSetEqual,
  kSetNotEqual,
  kSetLess,
  kSetAtLeast,
  kBranch,
  kReturn,
  kLoad,
  kLoadParameter,
  kStore,
  kAtomicAdd,
  kAtomicMin,
  kAtomicOr
};

struct PtxInstruction {
  PtxOp op = PtxOp::kReturn;
  int bits = 64;
  PtxOperand to{}, a{}, b{}, c{};
  int guard = -1;  // the register of @p; -1: always
  bool guard_negated = false;
  std::size_t target = 0;  // of a branch
};

struct PtxKernel {
  std::vector<int> parameter_bits{};  // 32 or 64
  std::vector<PtxInstruction> instructions{};
  std::size_t registers = 0;
};

struct PtxModule {
  std::map<std::string, PtxKernel, std::less<>> kernels{};
  std::string error{};  // what could not be understood; "" = all was
};

PtxModule ParsePtx(std::string_view text);

struct PtxGrid {
  unsigned blocks = 1, threads = 1;
};

// The memory that a kernel may touch. `stored` is asked what becomes of a value of `bits` that is
// written to an address, which is where memory that is broken is made.
struct PtxMemory {
  std::uint64_t begin = 0, end = 0;
  std::function<std::uint64_t(std::uint64_t address, std::uint64_t value, int bits)> stored{};
};

// Runs the kernel; false when it touches an address that is not the memory's.
bool RunPtx(const PtxKernel& kernel, const PtxGrid& grid,
            const std::vector<std::uint64_t>& parameters, const PtxMemory& memory);

}  // namespace galen::e2e
