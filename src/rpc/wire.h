// What gRPC writes into HTTP headers: timeouts, codes and percent-encoded texts. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "net/http.h"

namespace galen::rpc {

inline constexpr std::string_view kContentType = "application/grpc";

// "application/grpc", "application/grpc+proto", either with parameters. Case does not matter.
bool IsGrpcContentType(std::string_view value);

// A grpc-timeout of at most eight digits and a unit: "1500m". Rounded up, never to nothing.
std::string FormatTimeout(Duration timeout);
// nullopt when it is malformed; such a header is ignored.
std::optional<Duration> ParseTimeout(std::string_view text);

// Everything but printable ASCII, and the percent sign, as %XX.
std::string PercentEncode(std::string_view text);
// Broken sequences stay as they are; the outcome is valid UTF-8.
std::string PercentDecode(std::string_view text);

// grpc-status and grpc-message.
net::Headers StatusHeaders(const Status& status);
// The status in trailers (or in the headers of an answer that has nothing else), or nullopt.
std::optional<Status> StatusFromHeaders(const net::Headers& headers);
// What an answer without a grpc-status means, by its HTTP status.
Status StatusFromHttp(int http_status);

}  // namespace galen::rpc
