// Lines for operators: one constant sentence and key=value pairs, in logfmt:
//   time=2026-11-21T14:02:11.304Z level=info msg="health changed" device=gpu-0
// info: a state changed. warning: something went wrong and we recovered. error: a person is needed.
// A Log is passed to each part that writes; it may be used from any thread and outlives all of
// them.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/mutex.h"
#include "base/time.h"

namespace galen {

// In order: a level includes those after it.
enum class LogLevel { kDebug, kInfo, kWarning, kError };
std::string_view ToString(LogLevel level);
// Reads "debug", "info", "warning" or "error", exactly; otherwise InvalidArgument.
StatusOr<LogLevel> ParseLogLevel(std::string_view text);

// One key=value pair of a line. `key` is a literal; the value is anything that fmt can write and
// may come from outside: it is quoted where needed, cut at 2 KiB and made printable.
struct LogField {
  template <typename T>
  LogField(std::string_view key_in, const T& value_in)
      : key(key_in), value(fmt::format("{}", value_in)) {}

  std::string_view key;
  std::string value;
};

class Log {
 public:
  using Fields = std::initializer_list<LogField>;
  // Takes whole lines without their newline, one at a time, under the log's lock: it must not write
  // to the same log and should be quick.
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  // Lines below `least` are left out. `clock` stamps the lines and is called from whatever thread
  // writes.
  Log(LogLevel least, std::function<WallTime()> clock, Sink sink);

  // Each writes one line. The sentence is constant and names what happened; what differs from time
  // to time is in the fields. Values of fields are made even when the level is left out.
  void Debug(std::string_view sentence, Fields fields = {}) {
    Write(LogLevel::kDebug, sentence, fields);
  }
  void Info(std::string_view sentence, Fields fields = {}) {
    Write(LogLevel::kInfo, sentence, fields);
  }
  void Warning(std::string_view sentence, Fields fields = {}) {
    Write(LogLevel::kWarning, sentence, fields);
  }
  void Error(std::string_view sentence, Fields fields = {}) {
    Write(LogLevel::kError, sentence, fields);
  }

 private:
  void Write(LogLevel level, std::string_view sentence, Fields fields);

  const LogLevel least_;
  const std::function<WallTime()> clock_;
  Mutex mu_;
  const Sink sink_ GALEN_GUARDED_BY(mu_);
};

// Writes each line to standard error, or another descriptor, with one write(2): PIPE_BUF bytes stay
// whole on a pipe of several processes. Lines that find no room are lost, and counted in a line
// before the next one. Waits only where the kernel waits though it has said "room": for a file's
// disk, a terminal held in mid-line, a pipe that another process fills between look and write.
Log::Sink StderrSink(int fd = 2);

// A log that writes nothing; for tests and tools.
Log& NullLog();

}  // namespace galen
