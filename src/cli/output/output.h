// Standard output of one command, which knows when nobody takes it any more. Belongs to its
// session's thread.
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
  // `fd` is lent.
  explicit Output(int fd) : fd_(fd) {}
  Output(const Output&) = delete;

  // All of it; where that does not go, status() says why, and nothing is written from then on.
  void Write(std::string_view text);

  // OK; Cancelled: the reader of a pipe is gone; else what write(2) said, as of a full disk.
  const Status& status() const { return status_; }

  // As long as it lives, `on_lost` runs once, on the loop, when status() stops being OK: by a
  // write, or because the reader went away while nothing was written. One at a time; neither the
  // loop nor the output may go before it.
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

// Writes "galen: <message>" to standard error. A message may have several lines; what a stranger
// put into one does not command the terminal (Printable).
void PrintError(std::string_view message);

// The exit code of a command whose work is done: 0, kExitReaderGone, or why the output did not go.
StatusOr<int> ExitCodeOf(const Output& output);

}  // namespace galen::cli
