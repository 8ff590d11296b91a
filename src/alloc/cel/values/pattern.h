// A regular expression by RE2, whose syntax is that of Go's regexp. Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::alloc::cel {

class Pattern {
 public:
  // For its program and what it remembers of states; RE2 does without the latter where it must.
  static constexpr std::int64_t kBytesMax = 512 << 10;

  // InvalidArgument, with RE2's reason, which may be that it needs more memory.
  static StatusOr<std::unique_ptr<Pattern>> Compile(std::string_view expression);
  ~Pattern();

  // What looking through a text of so many bytes takes at worst, in an arena's steps: RE2 follows
  // each instruction of its program at each byte where it cannot remember states.
  std::uint64_t StepsOn(std::size_t bytes) const;
  // Whether it is found anywhere.
  bool Matches(std::string_view text) const;
  // The first place; nullopt when there is none.
  std::optional<std::string_view> Find(std::string_view text) const;
  // All places, from left to right, none upon another; at most so many if `count_max` is not
  // negative. Before each it asks whether it may take so many steps, and ends when it may not.
  using MayWork = std::function<bool(std::uint64_t steps)>;
  std::vector<std::string_view> FindAll(std::string_view text, std::int64_t count_max,
                                        const MayWork& may_work = nullptr) const;

 private:
  struct Impl;
  explicit Pattern(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::alloc::cel
