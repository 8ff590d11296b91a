// The result of an active check, as `galen check` leaves it for the device's driver
// (docs/formats/check-result.md). A value; no file, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/data/json.h"
#include "base/status.h"
#include "base/time.h"

namespace galen {

// Unknown: the check came to no result, as when the device was too hot; never treated as bad.
enum class CheckVerdict { kPassed, kFailed, kUnknown };
std::string_view ToString(CheckVerdict verdict);  // "Passed"

// The subject of a check: the device by itself, or its links to others.
enum class CheckSubject { kDevice, kLinks };
std::string_view ToString(CheckSubject subject);  // "device"

struct CheckResult {
  std::string device{};       // "gpu-0", as its driver names it
  std::string pci_address{};  // "0000:4b:00.0"; "" = it has none
  std::string uuid{};         // "GPU-7d4b…"; "" = it has none
  std::string model{};        // for people
  CheckSubject subject = CheckSubject::kDevice;
  CheckVerdict verdict = CheckVerdict::kUnknown;
  std::string code{};     // "MemoryMismatch"; "" when passed
  std::string message{};  // one sentence of at most kCauseMessageBytesMax bytes
  WallTime began{}, ended{};
  std::string boot_id{};
  std::uint64_t seed = 0;   // of what was random
  std::int64_t rounds = 0;  // that were complete
  std::uint64_t bytes = 0;  // of memory, in each

  bool operator==(const CheckResult&) const = default;
};

// A larger file is not a result.
inline constexpr std::size_t kCheckResultBytesMax = 16 * 1024;

Json ToJson(const CheckResult& result);
// InvalidArgument says what is wrong with it. Texts are bounded and printable afterwards.
StatusOr<CheckResult> ParseCheckResult(std::string_view text);

// The name of its file, in a directory of such results: "gpu-0.json", "gpu-0.links.json". REQUIRES:
// `device` is a DNS label, so that no two have the same one.
std::string CheckResultFile(std::string_view device, CheckSubject subject);
// The directory of results, below a driver's state directory.
inline constexpr std::string_view kCheckResultsDirectory = "checks";

}  // namespace galen
