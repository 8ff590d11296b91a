// A child process on the loop: started without a shell, its output read, its end told.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io_loop.h"

namespace galen {

class Process {
 public:
  struct Options {
    std::vector<std::string> command;      // program and arguments; found by PATH
    std::vector<std::string> environment;  // "KEY=value" lines added to ours
    std::string directory;                 // "" = ours
    // Where standard output and error go: a file's path, or "" to be told by on_output.
    std::string output_path;
    // Bytes as they come from standard output (not error) when output_path is empty.
    std::function<void(std::string_view)> on_output;
  };
  struct Exit {
    int code = 0;    // valid when signal is 0
    int signal = 0;  // that ended it
  };

  // `on_exit` runs once, on the loop, after all output was told.
  static StatusOr<std::unique_ptr<Process>> Start(IoLoop& loop, Options options,
                                                  std::function<void(Exit)> on_exit);
  // Kills (SIGKILL) and reaps when it still runs; on_exit is not called then.
  ~Process();

  pid_t pid() const;
  // Does nothing when it has ended.
  void Signal(int signal);

 private:
  struct Impl;
  explicit Process(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
