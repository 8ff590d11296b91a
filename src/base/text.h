// Text from elsewhere, made safe to keep and to show. Pure functions over any bytes; all are linear
// in the text's length. For what comes from a driver, the kernel log or the API server, before it
// is stored, printed or sent on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galen {

// Valid UTF-8 (RFC 3629): each broken byte becomes U+FFFD, so the text may grow to three times its
// length. Control characters stay.
std::string ToValidUtf8(std::string_view text);

// At most `bytes_max` bytes, never cutting inside a code point; what was cut is marked by "...",
// which counts, and is left out where not even it would fit. REQUIRES: valid UTF-8, or the cut may
// come earlier than it must.
std::string CutText(std::string_view text, std::size_t bytes_max);

// For a terminal or a log line: control characters (escape sequences, newlines, tabs) and those
// that reorder or break a line unseen become U+FFFD, as do broken bytes.
std::string Printable(std::string_view text);

// A stranger's text, fit for a line of a message: printable and cut. Costs no more than its bound
// does, for what is sent may be megabytes.
std::string Shown(std::string_view text, std::size_t bytes_max = 240);

// Empties the text and gives its memory back. To assign "" would keep the memory (libstdc++ does),
// which after a burst may be megabytes.
void GiveBack(std::string& text);

// Without spaces, tabs and line ends before and after; a part of `text`.
std::string_view Trimmed(std::string_view text);

// The whole number that the text begins with, in digits of `base`; nullopt where it begins with
// none, a sign included, or with one that does not fit.
std::optional<std::int64_t> LeadingNumber(std::string_view text, int base = 10);

// "1 slice", "3 slices".
std::string Counted(std::size_t count, std::string_view what);

// Whether one of them is likely the other, misspelt: at most two letters are wrong, missing or too
// many, and fewer than half of them.
bool IsNear(std::string_view a, std::string_view b);

// Kubernetes' names: a DNS label (1 to 63 bytes) and a DNS subdomain (1 to 253 bytes) of RFC 1123,
// in lower case. As in Kubernetes, the labels of a subdomain have no bound of their own.
bool IsDnsLabel(std::string_view text);
bool IsDnsSubdomain(std::string_view text);

}  // namespace galen
