#include "probes/pattern.h"

#include <re2/re2.h>

#include <utility>

#include "base/text.h"

namespace galen::probes {

struct Pattern::Impl {
  explicit Impl(const std::string& of_lines) : expression(of_lines, Options()) {}

  static re2::RE2::Options Options() {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_log_errors(false);
    options.set_max_mem(static_cast<std::int64_t>(kMemoryMax));
    return options;
  }

  Found Match(std::string_view text, re2::RE2::Anchor anchor) const {
    re2::StringPiece parts[2];
    const int wanted = expression.NumberOfCapturingGroups() > 0 ? 2 : 1;
    const re2::StringPiece input(text.data(), text.size());
    if (!expression.Match(input, 0, text.size(), anchor, parts, wanted)) return {};
    const re2::StringPiece& found = parts[wanted - 1];
    return {true, {found.data(), found.size()}};
  }

  re2::RE2 expression;
};

Pattern::Pattern(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pattern::Pattern(const Pattern& other)
    : impl_(std::make_unique<Impl>(other.impl_->expression.pattern())) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(const Pattern& other) { return *this = Pattern(other); }
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

StatusOr<Pattern> Pattern::Create(std::string_view text) {
  if (text.empty() || text.size() > kTextBytesMax) {
    return InvalidArgument("is not an expression of 1 to {} bytes", kTextBytesMax);
  }
  auto impl = std::make_unique<Impl>("(?m)" + std::string(text));
  if (!impl->expression.ok()) {
    return InvalidArgument("is not a regular expression: {}", Shown(impl->expression.error(), 120));
  }
  return Pattern(std::move(impl));
}

int Pattern::groups() const { return impl_->expression.NumberOfCapturingGroups(); }

Pattern::Found Pattern::Find(std::string_view text) const {
  return impl_->Match(text, re2::RE2::UNANCHORED);
}

Pattern::Found Pattern::FindAtBegin(std::string_view text) const {
  return impl_->Match(text, re2::RE2::ANCHOR_START);
}

}  // namespace galen::probes
