#include "tests/e2e/cuda/ptx_machine.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

namespace galen::e2e {
namespace {

// The first registers of every kernel: what threads are told of themselves.
constexpr std::string_view kSpecial[] = {"%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x"};

struct OpName {
  std::string_view name;
  PtxOp op;
  int bits;
};

// Whole names, so that a type that nobody thought of is an error and not a guess.
constexpr OpName kOps[] = {{"cvta.to.global.u64", PtxOp::kMove, 64},
                           {"mov.u32", PtxOp::kMove, 32},
                           {"mov.f32", PtxOp::kMove, 32},
                           {"cvt.u64.u32", PtxOp::kMove, 32},
                           {"cvt.u32.u64", PtxOp::kMove, 32},
                           {"add.u64", PtxOp::kAdd, 64},
                           {"add.u32", PtxOp::kAdd, 32},
                           {"sub.u32", PtxOp::kSubtract, 32},
                           {"mul.lo.u64", PtxOp::kMultiply, 64},
                           {"mul.lo.u32", PtxOp::kMultiply, 32},
                           {"mul.wide.u32", PtxOp::kMultiplyWide, 32},
                           {"mad.lo.u32", PtxOp::kMultiplyAdd, 32},
                           {"fma.rn.f32", PtxOp::kFloatMultiplyAdd, 32},
                           {"div.u32", PtxOp::kDivide, 32},
                           {"rem.u32", PtxOp::kRemainder, 32},
                           {"and.b32", PtxOp::kAnd, 32},
                           {"or.b64", PtxOp::kOr, 64},
                           {"xor.b64", PtxOp::kXor, 64},
                           {"shl.b64", PtxOp::kShiftLeft, 64},
                           {"shr.u64", PtxOp::kShiftRight, 64},
                           {"setp.eq.u64", PtxOp::kSetEqual, 64},
                           {"setp.ne.u32", PtxOp::kSetNotEqual, 32},
                           {"setp.lt.u32", PtxOp::kSetLess, 32},
                           {"setp.ge.u32", PtxOp::kSetAtLeast, 32},
                           {"setp.ge.u64", PtxOp::kSetAtLeast, 64},
                           {"bra", PtxOp::kBranch, 64},
                           {"ret", PtxOp::kReturn, 64},
                           {"ld.global.u64", PtxOp::kLoad, 64},
                           {"ld.global.u32", PtxOp::kLoad, 32},
                           {"ld.global.f32", PtxOp::kLoad, 32},
                           {"ld.param.u64", PtxOp::kLoadParameter, 64},
                           {"ld.param.u32", PtxOp::kLoadParameter, 32},
                           {"st.global.u64", PtxOp::kStore, 64},
                           {"st.global.u32", PtxOp::kStore, 32},
                           {"st.global.f32", PtxOp::kStore, 32},
                           {"atom.global.add.u64", PtxOp::kAtomicAdd, 64},
                           {"atom.global.min.u64", PtxOp::kAtomicMin, 64},
                           {"atom.global.or.b64", PtxOp::kAtomicOr, 64}};

std::vector<std::string> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text) {
    if (separators.find(c) == std::string_view::npos) {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

// One kernel while it is read.
class KernelReader {
 public:
  KernelReader() {
    for (const std::string_view name : kSpecial) Declare(std::string(name));
  }

  // ".param .u64 words, .param .u32 kind"
  void Parameters(std::string_view text) {
    const std::vector<std::string> words = Split(text, " ,\n");
    for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
      const bool known = words[i] == ".param" && (words[i + 1] == ".u64" || words[i + 1] == ".u32");
      if (!known) return Fail("parameter " + words[i + 1]);
      kernel_.parameter_bits.push_back(words[i + 1] == ".u64" ? 64 : 32);
      parameters_[words[i + 2]] = kernel_.parameter_bits.size() - 1;
    }
  }
  // A declaration, a label or an instruction, without its end.
  void Statement(std::string_view text) {
    std::vector<std::string> words = Split(text, " \n,");
    if (words.empty()) return;
    if (words[0] == ".reg") {
      for (std::size_t i = 2; i < words.size(); ++i) Declare(words[i]);
      return;
    }
    PtxInstruction instruction;
    if (words[0][0] == '@') {
      instruction.guard_negated = words[0][1] == '!';
      const auto guard = Register(words[0].substr(instruction.guard_negated ? 2 : 1));
      if (!guard) return Fail(words[0]);
      instruction.guard = static_cast<int>(*guard);
      words.erase(words.begin());
    }
    const auto* op = std::ranges::find(kOps, words[0], &OpName::name);
    if (op == std::end(kOps)) return Fail("instruction " + words[0]);
    instruction.op = op->op;
    instruction.bits = op->bits;
    if (op->op == PtxOp::kBranch) {
      jumps_.emplace_back(kernel_.instructions.size(), words.at(1));
    } else {
      PtxOperand* const places[] = {&instruction.to, &instruction.a, &instruction.b,
                                    &instruction.c};
      if (words.size() > 5) return Fail("operands of " + words[0]);
      for (std::size_t i = 1; i < words.size(); ++i) *places[i - 1] = Operand(words[i]);
    }
    kernel_.instructions.push_back(instruction);
  }
  void Label(const std::string& name) { labels_[name] = kernel_.instructions.size(); }

  PtxKernel Take(std::string& error) {
    for (const auto& [at, name] : jumps_) {
      if (!labels_.contains(name)) Fail("label " + name);
      kernel_.instructions[at].target = labels_[name];
    }
    kernel_.registers = registers_.size();
    if (!error_.empty()) error = error_;
    return std::move(kernel_);
  }

 private:
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  void Declare(const std::string& name) { registers_.try_emplace(name, registers_.size()); }
  std::optional<std::size_t> Register(const std::string& name) const {
    const auto found = registers_.find(name);
    return found == registers_.end() ? std::nullopt : std::optional(found->second);
  }
  PtxOperand Operand(std::string text) {
    PtxOperand operand;
    if (text.front() == '[') {
      text = text.substr(1, text.size() - 2);
      const std::size_t plus = text.find('+');
      if (plus != std::string::npos) operand.offset = std::stoull(text.substr(plus + 1));
      text = text.substr(0, plus);
    }
    if (const auto place = Register(text)) {
      operand.kind = PtxOperand::Kind::kRegister;
      operand.value = *place;
    } else if (parameters_.contains(text)) {
      operand.kind = PtxOperand::Kind::kParameter;
      operand.value = parameters_[text];
    } else if (text.starts_with("0f")) {  // the bits of a float
      operand.kind = PtxOperand::Kind::kNumber;
      operand.value = std::stoull(text.substr(2), nullptr, 16);
    } else if (text[0] >= '0' && text[0] <= '9') {
      operand.kind = PtxOperand::Kind::kNumber;
      operand.value = std::stoull(text, nullptr, 0);
    } else {
      Fail("operand " + text);
    }
    return operand;
  }

  PtxKernel kernel_;
  std::string error_;
  std::map<std::string, std::size_t> registers_, parameters_, labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
};

std::string WithoutComments(std::string_view text) {
  std::string plain;
  for (const std::string& line : Split(text, "\n")) plain += line.substr(0, line.find("//")) + "\n";
  return plain;
}

// One thread of a grid.
class PtxThread {
 public:
  PtxThread(const PtxKernel& kernel, const std::vector<std::uint64_t>& parameters,
            const PtxMemory& memory)
      : kernel_(kernel), parameters_(parameters), memory_(memory), registers_(kernel.registers) {}

  bool Run(unsigned thread, unsigned block, const PtxGrid& grid) {
    registers_[0] = thread;
    registers_[1] = block;
    registers_[2] = grid.threads;
    registers_[3] = grid.blocks;
    for (at_ = 0; at_ < kernel_.instructions.size();) {
      const PtxInstruction& instruction = kernel_.instructions[at_++];
      if (instruction.guard >= 0 && (registers_[static_cast<std::size_t>(instruction.guard)] !=
                                     0) == instruction.guard_negated) {
        continue;
      }
      if (instruction.op == PtxOp::kReturn) return true;
      if (!Step(instruction)) return false;
    }
    return false;  // ran off its end
  }

 private:
  std::uint64_t Value(const PtxOperand& operand) const {
    return operand.kind == PtxOperand::Kind::kRegister ? registers_[operand.value] : operand.value;
  }
  void Set(const PtxInstruction& instruction, std::uint64_t value, int bits) {
    registers_[instruction.to.value] = bits == 32 ? value & 0xffffffff : value;
  }

  bool Step(const PtxInstruction& i) {
    switch (i.op) {
      case PtxOp::kLoadParameter:
        Set(i, parameters_[i.a.value], i.bits);
        return true;
      case PtxOp::kBranch:
        at_ = i.target;
        return true;
      case PtxOp::kLoad:
      case PtxOp::kStore:
      case PtxOp::kAtomicAdd:
      case PtxOp::kAtomicMin:
      case PtxOp::kAtomicOr:
        return Touch(i);
      default:
        Set(i, Compute(i, Value(i.a), Value(i.b)), i.op == PtxOp::kMultiplyWide ? 64 : i.bits);
        return true;
    }
  }

  std::uint64_t Compute(const PtxInstruction& i, std::uint64_t a, std::uint64_t b) const {
    switch (i.op) {
      case PtxOp::kMove:
        return a;
      case PtxOp::kAdd:
        return a + b;
      case PtxOp::kSubtract:
        return a - b;
      case PtxOp::kMultiply:
      case PtxOp::kMultiplyWide:
        return a * b;
      case PtxOp::kMultiplyAdd:
        return a * b + Value(i.c);
      case PtxOp::kFloatMultiplyAdd:
        return std::bit_cast<std::uint32_t>(__builtin_fmaf(Float(a), Float(b), Float(Value(i.c))));
      case PtxOp::kDivide:
        return a / b;
      case PtxOp::kRemainder:
        return a % b;
      case PtxOp::kAnd:
        return a & b;
      case PtxOp::kOr:
        return a | b;
      case PtxOp::kXor:
        return a ^ b;
      // A shift by more than there is gives zero.
      case PtxOp::kShiftLeft:
        return b > 63 ? 0 : a << b;
      case PtxOp::kShiftRight:
        return b > 63 ? 0 : a >> b;
      case PtxOp::kSetEqual:
        return a == b;
      case PtxOp::kSetNotEqual:
        return a != b;
      case PtxOp::kSetLess:
        return a < b;
      case PtxOp::kSetAtLeast:
        return a >= b;
      default:
        return 0;
    }
  }
  static float Float(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }

  // A store has its address first, all others second.
  bool Touch(const PtxInstruction& i) {
    const PtxOperand& place = i.op == PtxOp::kStore ? i.to : i.a;
    const std::uint64_t address = Value(place) + place.offset;
    const std::uint64_t size = static_cast<std::uint64_t>(i.bits) / 8;
    if (address < memory_.begin || address + size > memory_.end || address % size != 0) {
      return false;
    }
    std::uint64_t before = 0;
    std::memcpy(&before, reinterpret_cast<const void*>(address), size);
    std::uint64_t after = before;
    if (i.op == PtxOp::kStore) after = Value(i.a);
    if (i.op == PtxOp::kAtomicAdd) after = before + Value(i.b);
    if (i.op == PtxOp::kAtomicMin) after = std::min(before, Value(i.b));
    if (i.op == PtxOp::kAtomicOr) after = before | Value(i.b);
    if (i.op != PtxOp::kStore) Set(i, before, i.bits);
    if (i.op == PtxOp::kLoad) return true;
    if (memory_.stored) after = memory_.stored(address, after, i.bits);
    std::memcpy(reinterpret_cast<void*>(address), &after, size);
    return true;
  }

  const PtxKernel& kernel_;
  const std::vector<std::uint64_t>& parameters_;
  const PtxMemory& memory_;
  std::vector<std::uint64_t> registers_;
  std::size_t at_ = 0;
};

}  // namespace

PtxModule ParsePtx(std::string_view text) {
  const std::string plain = WithoutComments(text);
  PtxModule module;
  constexpr std::string_view kEntry = ".visible .entry ";
  std::size_t at = plain.find(kEntry);
  if (at == std::string::npos) module.error = "no kernel";
  while (at != std::string::npos) {
    const std::size_t open = plain.find('(', at), close = plain.find(')', open);
    const std::size_t begin = plain.find('{', close), end = plain.find('}', begin);
    if (end == std::string::npos) {
      module.error = "a kernel without an end";
      return module;
    }
    const std::string name = plain.substr(at + kEntry.size(), open - at - kEntry.size());
    KernelReader reader;
    reader.Parameters(std::string_view(plain).substr(open + 1, close - open - 1));
    for (std::string statement : Split(plain.substr(begin + 1, end - begin - 1), ";")) {
      for (std::size_t colon; (colon = statement.find(':')) != std::string::npos;) {
        for (const std::string& label : Split(statement.substr(0, colon), " \n")) {
          reader.Label(label);
        }
        statement = statement.substr(colon + 1);
      }
      reader.Statement(statement);
    }
    module.kernels[name] = reader.Take(module.error);
    at = plain.find(kEntry, end);
  }
  return module;
}

bool RunPtx(const PtxKernel& kernel, const PtxGrid& grid,
            const std::vector<std::uint64_t>& parameters, const PtxMemory& memory) {
  PtxThread one(kernel, parameters, memory);
  for (unsigned block = 0; block < grid.blocks; ++block) {
    for (unsigned thread = 0; thread < grid.threads; ++thread) {
      if (!one.Run(thread, block, grid)) return false;
    }
  }
  return true;
}

}  // namespace galen::e2e
