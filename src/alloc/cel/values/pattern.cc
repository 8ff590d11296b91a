#include "alloc/cel/values/pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/code_point.h"

namespace galen::alloc::cel {

struct Pattern::Impl {
  explicit Impl(std::string_view text)
      : expression(re2::StringPiece(text.data(), text.size()), Options()) {}
  static re2::RE2::Options Options() {
    re2::RE2::Options options(re2::RE2::Quiet);
    options.set_max_mem(kBytesMax);
    return options;
  }
  re2::RE2 expression;
};

Pattern::Pattern(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pattern::~Pattern() = default;

StatusOr<std::unique_ptr<Pattern>> Pattern::Compile(std::string_view expression) {
  auto impl = std::make_unique<Impl>(expression);
  if (!impl->expression.ok()) {
    return InvalidArgument("invalid regular expression: {}", impl->expression.error());
  }
  return std::unique_ptr<Pattern>(new Pattern(std::move(impl)));
}

std::uint64_t Pattern::StepsOn(std::size_t bytes) const {
  // Instructions at a byte for each step.
  constexpr std::uint64_t kInstructionsOfAStep = 64;
  const auto instructions = static_cast<std::uint64_t>(impl_->expression.ProgramSize());
  return 1 + (bytes + 1) * instructions / kInstructionsOfAStep;
}

bool Pattern::Matches(std::string_view text) const {
  return impl_->expression.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                                 re2::RE2::UNANCHORED, nullptr, 0);
}

std::optional<std::string_view> Pattern::Find(std::string_view text) const {
  const std::vector<std::string_view> found = FindAll(text, 1);
  if (found.empty()) return std::nullopt;
  return found[0];
}

std::vector<std::string_view> Pattern::FindAll(std::string_view text, std::int64_t count_max,
                                               const MayWork& may_work) const {
  std::vector<std::string_view> all;
  const re2::StringPiece input(text.data(), text.size());
  const char* last_end = nullptr;
  for (std::size_t at = 0; at <= text.size();) {
    if (count_max >= 0 && static_cast<std::int64_t>(all.size()) >= count_max) break;
    if (may_work && !may_work(StepsOn(text.size() - at))) break;
    re2::StringPiece found;
    if (!impl_->expression.Match(input, at, text.size(), re2::RE2::UNANCHORED, &found, 1)) break;
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    // As Go: an empty match right after another one does not count.
    if (!found.empty() || found.data() != last_end) {
      all.push_back(text.substr(begin, found.size()));
    }
    last_end = found.data() + found.size();
    at = begin + found.size();
    if (!found.empty()) continue;
    if (at == text.size()) break;
    at += std::max<std::size_t>(ReadCodePoint(text.substr(at)).bytes, 1);
  }
  return all;
}

}  // namespace galen::alloc::cel
