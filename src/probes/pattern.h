// A regular expression of a table of rules. RE2 behind it: whatever the expression and the text, it
// takes time linear in the text, so that neither an operator's slip nor a line from outside can
// hold a driver up.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::probes {

// A value, compiled anew for each copy. Reading it is safe from any thread.
class Pattern {
 public:
  // Longer ones are mistakes; and a compiled one takes at most kMemoryMax.
  static constexpr std::size_t kTextBytesMax = 256;
  static constexpr std::size_t kMemoryMax = 256UL * 1024;

  // By RE2's syntax (https://github.com/google/re2/wiki/Syntax); bytes above ASCII stand for
  // themselves, '.' is any byte but a line's end. InvalidArgument says what is wrong, such as
  // repetitions that multiply to more than kMemoryMax.
  static StatusOr<Pattern> Create(std::string_view text);
  Pattern(const Pattern& other);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(const Pattern& other);
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  int groups() const;

  // The part of a text that the expression found: its first group where it has one, else all of it.
  // It lives as long as the text.
  struct Found {
    bool matches = false;
    std::string_view text{};
  };
  // Anywhere; '^' and '$' are begin and end of a line.
  Found Find(std::string_view text) const;
  // From the text's begin on.
  Found FindAtBegin(std::string_view text) const;

 private:
  struct Impl;
  explicit Pattern(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::probes
