// Standard output of one command; notices when its reader is gone. Belongs to its session's thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/loop/io_loop.h"

namespace galen::cli {

// As a shell says of a program that SIGPIPE ended: its reader is gone.
inline constexpr int kExitReaderGone = 141;

class Output {
 public:
  // `fd` is borrowed.
  explicit Output(int fd) : fd_(fd) {}
  Output(const Output&) = delete;

  // Writes all of it; after an error, status() has the reason and nothing more is written.
  void Write(std::string_view text);

  // OK; Cancelled: the reader of a pipe is gone; else write(2)'s error, such as a full disk.
  const Status& status() const { return status_; }

  // While it exists, `on_lost` is called once, on the loop, when status() is no longer OK: after a
  // write, or when the reader leaves between writes. One at a time; the loop and the output must
  // outlive it.
  class Watching {
   public:
    explicit Watching(Output& output) : output_(output) {}
    ~Watching() { output_.Unwatch(); }
    Watching(const Watching&) = delete;

   private:
    Output& output_;
  };
  [[nodiscard]] std::unique_ptr<Watching> Watch(IoLoop& loop, std::function<void()> on_lost);

 private:
  void Lose(Status why);
  void Unwatch();

  const int fd_;
  Status status_;
  std::function<void()> on_lost_;
  FdWatch watch_;
};

// Writes "galen: <message>" to standard error. A message may have several lines; control characters
// are made printable (Printable).
void PrintError(std::string_view message);

// The exit code of a finished command: 0, kExitReaderGone, or the output's error.
StatusOr<int> ExitCodeOf(const Output& output);

}  // namespace galen::cli
