#include "active/device_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "active/matrix_check.h"
#include "active/memory_check.h"
#include "base/text.h"

namespace galen::active {
namespace {

constexpr MatrixKind kMatrixKinds[] = {MatrixKind::kIntegers, MatrixKind::kFloats};

// One run of RunDeviceCheck.
class DeviceCheck {
 public:
  DeviceCheck(MatrixCheck matrices, MemoryCheck memory, const DeviceCheckOptions& options,
              CheckWatch& watch)
      : matrices_(matrices),
        memory_(std::move(memory)),
        seed_(options.seed),
        rounds_max_(options.rounds_max),
        watch_(watch) {}

  CheckOutcome Run() {
    CheckOutcome outcome;
    while (true) {
      done_ = 0;
      const StatusOr<std::optional<Finding>> round = Round(outcome.rounds);
      if (!round.ok()) {
        outcome = OutcomeOfError(round.status(), outcome.rounds,
                                 fmt::format("{} of {}", done_, Counted(planned_, "test")));
        break;
      }
      if (*round) {
        outcome.verdict = CheckVerdict::kFailed;
        outcome.code = (*round)->code;
        outcome.message = (*round)->message;
        break;
      }
      if (++outcome.rounds != rounds_max_) continue;
      outcome.verdict = CheckVerdict::kPassed;
      break;
    }
    outcome.bytes = memory_.bytes();
    return outcome;
  }

 private:
  StatusOr<std::optional<Finding>> Round(int round) {
    const Time begin = watch_.Now();
    const std::vector<Pattern> patterns = PatternsOfRound(seed_, round);
    planned_ = patterns.size() + std::size(kMatrixKinds);
    for (const Pattern& pattern : patterns) {
      ASSIGN_OR_RETURN(std::optional<Finding> found, memory_.Run(pattern, watch_));
      if (found) return found;
      ++done_;
    }
    return Multiply(begin);
  }

  // Multiplies for as long as the round's patterns took, which began at `begin`: both get the same
  // share of time on any device. Each kind runs at least once.
  StatusOr<std::optional<Finding>> Multiply(Time begin) {
    const Time end = watch_.Now() + (watch_.Now() - begin);
    do {
      for (const MatrixKind kind : kMatrixKinds) {
        ASSIGN_OR_RETURN(std::optional<Finding> found, matrices_.Run(kind, watch_));
        if (found) return found;
      }
    } while (watch_.Now() < end);
    // Not before: whoever reads how far a round came must not take it for a whole one.
    done_ += std::size(kMatrixKinds);
    return std::optional<Finding>();
  }

  MatrixCheck matrices_;
  MemoryCheck memory_;
  const std::uint64_t seed_;
  const int rounds_max_;
  CheckWatch& watch_;
  std::size_t done_ = 0, planned_ = 0;  // tests of this round
};

StatusOr<DeviceCheck> Prepare(ComputeDevice& device, const DeviceCheckOptions& options,
                              CheckWatch& watch) {
  ASSIGN_OR_RETURN(const MatrixCheck matrices, MatrixCheck::Take(device, watch));
  ASSIGN_OR_RETURN(const std::uint64_t free, device.FreeBytes());
  auto bytes = static_cast<std::uint64_t>(static_cast<double>(free) * options.memory_share);
  if (options.memory_bytes_max > 0) bytes = std::min(bytes, options.memory_bytes_max);
  ASSIGN_OR_RETURN(MemoryCheck memory, MemoryCheck::Take(device, bytes, watch));
  return DeviceCheck(matrices, std::move(memory), options, watch);
}

}  // namespace

CheckOutcome OutcomeOfError(const Status& status, int rounds, std::string_view done) {
  CheckOutcome outcome{.message = status.message(), .rounds = rounds};
  switch (status.code()) {
    case Code::kDataLoss:
      outcome.verdict = CheckVerdict::kFailed;
      outcome.code = "DeviceReportsError";
      break;
    case Code::kDeadlineExceeded:
      if (rounds > 0) {
        outcome.verdict = CheckVerdict::kPassed;
        outcome.message.clear();
      } else {
        outcome.code = "TimeOver";
        outcome.message =
            fmt::format("the time was over before one round was complete ({} done)", done);
      }
      break;
    case Code::kFailedPrecondition:
      outcome.code = "TooHot";
      break;
    case Code::kCancelled:
      outcome.code = "Interrupted";
      break;
    default:
      outcome.code = "CheckError";
      break;
  }
  return outcome;
}

CheckOutcome RunDeviceCheck(ComputeDevice& device, const DeviceCheckOptions& options,
                            CheckWatch& watch) {
  StatusOr<DeviceCheck> check = Prepare(device, options, watch);
  if (!check.ok()) return OutcomeOfError(check.status(), 0, "none");
  return check->Run();
}

}  // namespace galen::active
