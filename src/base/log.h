// Lines for operators: one constant sentence and key=value pairs, in logfmt.
// info: a state changed. warning: something went wrong and we recovered. error: a person is needed.
// A Log is handed to whoever writes; it may be used from any thread.
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

enum class LogLevel { kDebug, kInfo, kWarning, kError };
std::string_view ToString(LogLevel level);
StatusOr<LogLevel> ParseLogLevel(std::string_view text);

// One key=value pair of a line.
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
  // Takes whole lines without their newline.
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  // `clock` stamps the lines.
  Log(LogLevel least, std::function<WallTime()> clock, Sink sink);

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

// Writes each line to standard error with one write(2).
Log::Sink StderrSink();

// A log that says nothing; for tests and tools.
Log& NullLog();

}  // namespace galen
