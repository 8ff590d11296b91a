// Asks an exporter for its page, on a thread that may wait: HTTP/1.0, so that an answer is not cut
// into chunks and ends with its connection.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "probes/exporter_address.h"

namespace galen::probes {

// An exporter of 256 devices sends well below a megabyte; one that floods is not read on.
inline constexpr std::size_t kExporterBytesMax = std::size_t{4} << 20;

// The request that is sent, with the headers that it needs. Pure.
std::string ExporterRequest(const ExporterAddress& address);

// The body of an answer of 200. Blocks up to `timeout` in all, whatever the exporter does;
// DeadlineExceeded then, ResourceExhausted past kExporterBytesMax, Unavailable for what is no such
// answer. Safe from any thread.
StatusOr<std::string> FetchExporter(const ExporterAddress& address, Duration timeout);

}  // namespace galen::probes
