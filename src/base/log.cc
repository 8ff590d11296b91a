#include "base/log.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/text.h"

namespace galen {
namespace {

// Long enough for a path or a chain of causes; a message of a megabyte stays one line.
constexpr std::size_t kValueBytesMax = 2048;

// Whether it may stand without quotes in logfmt: ASCII that can be seen, but for logfmt's own
// signs. Both bounds, because char is unsigned on some machines.
bool IsBare(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '=' && c != '\\';
  });
}

std::string Quoted(std::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Writes what fits now and returns its length; 0 once standard error is gone, which can be reported
// nowhere. O_NONBLOCK is not ours to set, since other processes share the descriptor's flags. A
// pipe that poll(2) calls writable has room for PIPE_BUF bytes (pipe(7)), unless another process
// fills it meanwhile.
std::size_t WriteWithoutWaiting(int fd, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) break;
    const std::string_view left = bytes.substr(done);
    ssize_t written = ::send(fd, left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) {
      written = ::write(fd, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
    }
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

std::string RenderedValue(std::string_view value) {
  // Bare values are the common case and need no cleaning: they hold no control character.
  if (value.size() <= kValueBytesMax && IsBare(value)) return std::string(value);
  return Quoted(Printable(CutText(value, kValueBytesMax)));
}

}  // namespace

std::string_view ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  GALEN_UNREACHABLE();
}

StatusOr<LogLevel> ParseLogLevel(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == ToString(level)) return level;
  }
  return InvalidArgument("log level \"{}\" is not one of debug, info, warning, error",
                         CutText(text, 64));
}

Log::Log(LogLevel least, std::function<WallTime()> clock, Sink sink)
    : least_(least), clock_(std::move(clock)), sink_(std::move(sink)) {}

void Log::Write(LogLevel level, std::string_view sentence, Fields fields) {
  if (level < least_) return;
  // Enough to order lines by, short enough to read.
  constexpr int kMilliseconds = 3;
  std::string line = fmt::format("time={} level={} msg={}", FormatRfc3339(clock_(), kMilliseconds),
                                 ToString(level), Quoted(Printable(sentence)));
  for (const LogField& field : fields) {
    line += fmt::format(" {}={}", field.key, RenderedValue(field.value));
  }
  MutexLock lock(mu_);
  sink_(level, line);
}

Log::Sink StderrSink(int fd) {
  return [fd, lost = std::size_t{0}, cut = false](LogLevel, std::string_view line) mutable {
    const auto is_written = [&](const std::string& whole) {
      const std::size_t written = WriteWithoutWaiting(fd, whole);
      cut = written < whole.size() && (cut || written > 0);
      return written == whole.size();
    };
    // A write of its own: once it is out, the lost lines are reported, whatever becomes of the next
    // line.
    constexpr std::string_view kLost = "log lines were lost because nobody read them";
    const bool reported =
        lost == 0 || is_written(fmt::format("{}level=warning msg=\"{}\" lines={}\n",
                                            cut ? "\n" : "", kLost, lost));
    if (reported) lost = 0;
    if (!reported || !is_written(std::string(line) + '\n')) ++lost;
  };
}

Log& NullLog() {
  // Shared by all who want silence; it has no state that a line could change.
  static Log log(LogLevel::kError, [] { return WallTime{}; }, [](LogLevel, std::string_view) {});
  return log;
}

}  // namespace galen
