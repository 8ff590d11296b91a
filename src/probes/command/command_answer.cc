#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <string_view>
#include <utility>

#include "base/data/json.h"
#include "base/text.h"
#include "probes/command/command_probe.h"
#include "probes/rules/sign.h"
#include "probes/rules/sign_value.h"

namespace galen::probes {
namespace {

// The first line that is not empty.
std::string OutputLine(std::string_view output) {
  const std::string_view text = Trimmed(output);
  return Shown(Trimmed(text.substr(0, text.find_first_of("\r\n"))), kDetailBytesMax);
}

CommandAnswer NoAnswer(const CommandSource& source, std::string_view why) {
  return {.error = fmt::format("{} {}", source.command.front(), why)};
}

CommandAnswer AnswerOfJson(const SignSpec& sign, const CommandEnd& end) {
  const CommandSource& source = *sign.command;
  const StatusOr<Json> json = Json::Parse(Trimmed(end.output));
  if (!json.ok() || !json->is_object()) {
    return NoAnswer(source, fmt::format("printed no JSON object within {} bytes: '{}'",
                                        kCommandOutputBytesMax, OutputLine(end.output)));
  }
  CommandAnswer answer{.value = end.number, .detail = OutputLine((*json)["message"].AsString())};
  if (const Json* value = json->Find("value")) {
    if (!value->is_number() || !std::isfinite(value->AsDouble())) {
      return NoAnswer(source, "printed JSON whose value is not a number");
    }
    answer.value = value->AsDouble();
  }
  const bool low = sign.least && *answer.value < *sign.least;
  const bool high = sign.most && *answer.value > *sign.most;
  if (low || high) {
    return NoAnswer(source, fmt::format("gave {}, which is not {}", NumberText(*answer.value),
                                        PossibleValues(sign)));
  }
  return answer;
}

CommandAnswer AnswerOfExit(const SignSpec& sign, const CommandEnd& end) {
  const std::string line = OutputLine(end.output);
  if (end.number != 0 && end.number != 1) {
    return NoAnswer(*sign.command, fmt::format("ended with exit code {}{}{}", end.number,
                                               line.empty() ? "" : ": ", line));
  }
  CommandAnswer answer = sign.command->json ? AnswerOfJson(sign, end)
                                            : CommandAnswer{.value = end.number, .detail = line};
  if (answer.value && answer.detail.empty()) answer.detail = "no detail was printed";
  return answer;
}

}  // namespace

double SecondsOf(Duration time) { return std::chrono::duration<double>(time).count(); }

CommandAnswer AnswerOf(const SignSpec& sign, const CommandEnd& end) {
  const CommandSource& source = *sign.command;
  switch (end.how) {
    case CommandEnd::How::kExited:
      return AnswerOfExit(sign, end);
    case CommandEnd::How::kSignalled:
      // The limit's own signal, or the kernel's kill a second after it.
      if (end.number == SIGXCPU || end.cpu >= source.cpu) {
        return NoAnswer(source,
                        fmt::format("used {:g} s of CPU and was killed", SecondsOf(source.cpu)));
      }
      return NoAnswer(source, fmt::format("was ended by signal {}", end.number));
    case CommandEnd::How::kTimedOut:
      return NoAnswer(source, fmt::format("had not ended after {:g} s and was killed",
                                          SecondsOf(source.timeout)));
    case CommandEnd::How::kFlooded:
      return NoAnswer(
          source, fmt::format("printed more than {} bytes and was killed", kCommandPrintsBytesMax));
    case CommandEnd::How::kOutOfMemory:
      return NoAnswer(source, fmt::format("was ended by its memory limit of {} MiB",
                                          kCommandMemoryBytesMax >> 20));
    case CommandEnd::How::kOutOfProcesses:
      return NoAnswer(source,
                      fmt::format("wanted more than {} processes and threads and gave no result",
                                  kCommandProcessesMax));
    case CommandEnd::How::kNotStarted:
      return NoAnswer(source, "cannot be run: " + Shown(end.error));
  }
  GALEN_UNREACHABLE();
}

}  // namespace galen::probes
