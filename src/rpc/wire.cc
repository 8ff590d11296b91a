#include "rpc/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "base/data/percent.h"
#include "base/text.h"

namespace galen::rpc {
namespace {

constexpr std::int64_t kTimeoutMax = 99'999'999;  // eight digits
constexpr std::size_t kTimeoutDigitsMax = 8;
// Longer ones could exceed the header limits of peers.
constexpr std::size_t kMessageBytesMax = 4096;

struct Unit {
  char letter;
  std::int64_t nanoseconds;
};
// The finest first: the first unit in which a time fits into eight digits rounds it least.
constexpr std::array<Unit, 6> kUnits = {{{'n', 1},
                                         {'u', 1'000},
                                         {'m', 1'000'000},
                                         {'S', 1'000'000'000},
                                         {'M', 60'000'000'000},
                                         {'H', 3'600'000'000'000}}};

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Code CodeFromWire(std::string_view text) {
  const auto number = ParseNumber<int>(text);
  if (!number || *number < 0 || *number > static_cast<int>(Code::kUnauthenticated)) {
    return Code::kUnknown;
  }
  return static_cast<Code>(*number);
}

Code CodeFromHttp(int http_status) {
  // By gRPC's doc/http-grpc-status-mapping.md. 400 says that our request was malformed, which would
  // be our own mistake: Internal.
  switch (http_status) {
    case 400:
      return Code::kInternal;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return Code::kUnavailable;
    default:
      return Code::kUnknown;
  }
}

// The sentence of a stranger: it goes to logs, Events and terminals, which obey control characters.
std::string OneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return Shown(text, kMessageBytesMax);
}

}  // namespace

bool IsGrpcContentType(std::string_view value) {
  if (value.size() < kContentType.size()) return false;
  const std::string_view start = value.substr(0, kContentType.size());
  const bool same = std::equal(start.begin(), start.end(), kContentType.begin(),
                               [](char a, char b) { return std::tolower(a) == b; });
  if (!same) return false;
  const std::string_view rest = value.substr(kContentType.size());
  return rest.empty() || rest.front() == '+' || rest.front() == ';';
}

std::string FormatTimeout(Duration timeout) {
  const std::int64_t left = std::max<std::int64_t>(timeout.count(), 1);
  for (const Unit& unit : kUnits) {
    const std::int64_t count = left / unit.nanoseconds + (left % unit.nanoseconds != 0 ? 1 : 0);
    if (count <= kTimeoutMax) return fmt::format("{}{}", count, unit.letter);
  }
  return fmt::format("{}H", kTimeoutMax);
}

std::optional<Duration> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kTimeoutDigitsMax + 1) return std::nullopt;
  const auto count = ParseNumber<std::uint32_t>(text.substr(0, text.size() - 1));
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& u) { return u.letter == text.back(); });
  if (!count || unit == kUnits.end()) return std::nullopt;
  if (*count > Duration::max().count() / unit->nanoseconds) return Duration::max();
  return Duration(std::int64_t{*count} * unit->nanoseconds);
}

std::string PercentEncode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<std::uint8_t>(c));
    }
  }
  return out;
}

net::Headers StatusHeaders(const Status& status) {
  net::Headers out = {{"grpc-status", std::to_string(static_cast<int>(status.code()))}};
  if (!status.message().empty()) {
    out.push_back({"grpc-message", PercentEncode(CutText(status.message(), kMessageBytesMax))});
  }
  return out;
}

std::optional<Status> StatusFromHeaders(const net::Headers& headers) {
  const auto code = net::FindHeader(headers, "grpc-status");
  if (!code) return std::nullopt;
  // The message of a success is of no use, and Status has no place for it.
  if (*code == "0") return OkStatus();
  const auto message = net::FindHeader(headers, "grpc-message");
  return Status(CodeFromWire(*code), message ? OneLine(PercentDecode(*message)) : "");
}

Status StatusFromHttp(int http_status) {
  return {CodeFromHttp(http_status),
          fmt::format("the answer is HTTP {} and not gRPC", http_status)};
}

}  // namespace galen::rpc
