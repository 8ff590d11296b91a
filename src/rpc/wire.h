// gRPC's HTTP headers (PROTOCOL-HTTP2.md): timeouts, codes and percent-encoded texts. Pure
// functions; what comes from a peer is never an error here, only less informative.
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

// A grpc-timeout of at most eight digits and a unit: "1500m". In the finest unit that fits. Rounded
// up, never to nothing: a negative or zero timeout is one nanosecond.
std::string FormatTimeout(Duration timeout);
// nullopt when it is malformed; such a header is ignored. What no Duration holds is
// Duration::max().
std::optional<Duration> ParseTimeout(std::string_view text);

// Everything but printable ASCII, and the percent sign, as %XX.
std::string PercentEncode(std::string_view text);

// grpc-status and grpc-message.
net::Headers StatusHeaders(const Status& status);
// The status in trailers (or in the headers of an answer that has nothing else), or nullopt. Its
// message, a stranger's, is one printable line of at most 4096 bytes (base/text.h); escapes of
// percents that are broken stay in it as they are.
std::optional<Status> StatusFromHeaders(const net::Headers& headers);
// The meaning of an answer without a grpc-status, by its HTTP status.
Status StatusFromHttp(int http_status);

}  // namespace galen::rpc
