#include "web/token_gate.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace galen::web {
namespace {

constexpr Duration kReadAgain = std::chrono::seconds(1);

constexpr std::string_view kScheme = "bearer ";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// In constant time, which reveals nothing of where they differ.
bool IsSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

// The token of "Bearer TOKEN", whose scheme may be written in any case; "" when there is none.
std::string_view TokenOf(std::string_view authorization) {
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  if (!std::ranges::equal(scheme, kScheme, {}, Lower)) return "";
  return Trimmed(authorization.substr(kScheme.size()));
}

}  // namespace

const std::string& TokenGate::Wanted() {
  if (read_ && loop_.Now() - *read_ < kReadAgain) return wanted_;
  read_ = loop_.Now();
  const StatusOr<std::string> text = files_.Read(token_file_);
  wanted_ = text.ok() ? Trimmed(*text) : "";
  return wanted_;
}

void TokenGate::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const std::string& wanted = Wanted();
  const std::string_view said =
      TokenOf(net::FindHeader(exchange->request().headers, "authorization").value_or(""));
  if (!wanted.empty() && IsSame(said, wanted)) return page_.Handle(std::move(exchange));
  net::Respond(*exchange, 401, "text/plain; charset=utf-8", "this asks for a bearer token\n");
}

}  // namespace galen::web
