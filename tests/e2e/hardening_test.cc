// How the programs were built, read from their files: flags that a build loses change nothing that
// any other test would see.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "tests/e2e/stage.h"

namespace galen::e2e {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::StartsWith;

// What of an ELF file of 64 bits (elf(5)) says how it was built. Trusts the file: our linker made
// it.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    head_ = At<Elf64_Ehdr>(0);
    ReadSegments();
    ReadSymbols();
  }

  bool is_elf() const { return bytes_.starts_with(ELFMAG); }
  // Loaded at an address that nobody knows beforehand.
  bool is_pie() const { return head_.e_type == ET_DYN && (flags_1_ & DF_1_PIE) != 0; }
  // Everything bound at the start, and its table read-only from then on.
  bool has_full_relro() const {
    return segments_.contains(PT_GNU_RELRO) &&
           ((flags_ & DF_BIND_NOW) != 0 || (flags_1_ & DF_1_NOW) != 0);
  }
  bool has_executable_stack() const {
    const auto stack = segments_.find(PT_GNU_STACK);
    return stack == segments_.end() || (stack->second & PF_X) != 0;
  }
  // What other libraries give it.
  const std::set<std::string>& imports() const { return imports_; }
  // The code of a function of its own; "" when it has none of that name.
  std::string CodeOf(const std::string& function) const {
    const auto found = functions_.find(function);
    return found == functions_.end() ? "" : bytes_.substr(found->second, 16);
  }

 private:
  template <typename T>
  T At(std::size_t offset) const {
    T out{};
    if (offset + sizeof(T) <= bytes_.size()) std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }

  void ReadSegments() {
    for (std::size_t i = 0; i < head_.e_phnum; ++i) {
      const auto segment = At<Elf64_Phdr>(head_.e_phoff + i * sizeof(Elf64_Phdr));
      segments_[segment.p_type] = segment.p_flags;
      if (segment.p_type != PT_DYNAMIC) continue;
      for (std::size_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
        const auto entry = At<Elf64_Dyn>(segment.p_offset + at);
        if (entry.d_tag == DT_FLAGS) flags_ = entry.d_un.d_val;
        if (entry.d_tag == DT_FLAGS_1) flags_1_ = entry.d_un.d_val;
      }
    }
  }

  Elf64_Shdr Section(std::size_t index) const {
    return At<Elf64_Shdr>(head_.e_shoff + index * sizeof(Elf64_Shdr));
  }

  void ReadSymbols() {
    for (std::size_t i = 0; i < head_.e_shnum; ++i) {
      const Elf64_Shdr table = Section(i);
      if (table.sh_type != SHT_DYNSYM && table.sh_type != SHT_SYMTAB) continue;
      const Elf64_Shdr names = Section(table.sh_link);
      for (std::size_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = At<Elf64_Sym>(table.sh_offset + at);
        const std::string name = bytes_.c_str() + names.sh_offset + symbol.st_name;
        if (symbol.st_shndx == SHN_UNDEF) {
          imports_.insert(name.substr(0, name.find('@')));
        } else if (symbol.st_shndx < head_.e_shnum && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) {
          const Elf64_Shdr code = Section(symbol.st_shndx);
          functions_[name] = symbol.st_value - code.sh_addr + code.sh_offset;
        }
      }
    }
  }

  std::string bytes_;
  Elf64_Ehdr head_{};
  std::map<std::uint32_t, std::uint32_t> segments_;  // flags by type
  std::uint64_t flags_ = 0, flags_1_ = 0;
  std::set<std::string> imports_;
  std::map<std::string, std::size_t> functions_;  // name to place in the file
};

TEST(Hardening, EachProgramIsBuiltToBeHardToBreakInto) {
  for (const char* name : {"galen", "galen-agent", "galen-driver", "galen-sim"}) {
    SCOPED_TRACE(name);
    const ElfFile program(BuiltProgram(name));
    ASSERT_TRUE(program.is_elf());
    EXPECT_TRUE(program.is_pie());
    EXPECT_TRUE(program.has_full_relro());
    EXPECT_FALSE(program.has_executable_stack());
    EXPECT_THAT(program.imports(), Contains("__stack_chk_fail")) << "-fstack-protector-strong";
    EXPECT_THAT(program.imports(), Contains(EndsWith("_chk"))) << "_FORTIFY_SOURCE";
    EXPECT_THAT(program.imports(), Contains(StartsWith("_ZSt21__glibcxx_assert_fail")))
        << "_GLIBCXX_ASSERTIONS";
#ifdef __x86_64__
    // endbr64, where an indirect call may go. The note that says it of a whole program is not
    // looked at: the linker leaves it out where the C library's start-up code was built without.
    EXPECT_THAT(program.CodeOf("main"), StartsWith("\xf3\x0f\x1e\xfa")) << "-fcf-protection";
#endif
  }
}

}  // namespace
}  // namespace galen::e2e
