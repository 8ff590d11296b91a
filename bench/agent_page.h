// What an agent's page says, for which one asks it as a probe or a scraper does. Blocks its thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace galen::bench {

// The port of this machine at which a program serves its page, from what it logged; NotFound before
// it says so.
StatusOr<std::uint16_t> PortOfPage(const std::string& log_path);

// The body of the answer to GET `path` at loopback. Unavailable when nobody listens or the answer
// is not 200, DeadlineExceeded when it does not come `within`.
StatusOr<std::string> ReadPage(std::uint16_t port, const std::string& path, Duration within);

// The value of a metric without labels; NotFound when the page has none.
StatusOr<double> ValueOf(std::string_view page, std::string_view metric);

}  // namespace galen::bench
