// Where a test plays with real programs: a short directory of its own, a loop that watches them,
// and their logs kept and shown when the test fails. Belongs to the test's thread.
//
//   Stage stage;
//   Program& sim = stage.Start("galen-sim", {"--kubeconfig-out", stage.Path("kubeconfig")});
//   ASSERT_TRUE(stage.Until([&] { return stage.HasFile("kubeconfig"); }));
//   EXPECT_EQ(stage.Run({"kubectl", "get", "nodes"}).exit_code, 0);
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/epoll_loop.h"
#include "base/loop/process.h"

namespace galen::e2e {

// A program that was started and may have ended.
class Program {
 public:
  // False as well when it could not be started.
  bool running() const { return process_ != nullptr && !ended_; }
  pid_t pid() const { return process_->pid(); }
  // Negative: the signal that ended it. REQUIRES: it ended.
  int exit_code() const { return exit_code_; }
  void Signal(int signal) { process_->Signal(signal); }
  // All it wrote to standard output and error so far.
  std::string Log() const;
  const std::string& log_path() const { return log_path_; }

 private:
  friend class Stage;
  std::unique_ptr<Process> process_;
  std::string name_;
  std::string log_path_;
  bool ended_ = false;
  int exit_code_ = 0;
};

// What a program that ran to its end left.
struct Outcome {
  int exit_code = 0;  // negative: the signal that ended it
  std::string output;
  std::string error;
};

class Stage {
 public:
  Stage();
  // Kills what still runs, by its pid. Keeps the directory when the test failed, and says where.
  ~Stage();
  Stage(const Stage&) = delete;

  // How a program is run.
  struct Options {
    std::vector<std::string> environment{};  // "KEY=value"
    // For Run() only; a started program lives until the stage goes.
    Duration deadline = std::chrono::seconds(30);
  };

  // Starts one of our programs from the build's bin directory, or any by its path; one that cannot
  // be started fails the test. The second of a name logs into "name-2.log". The program lives as
  // long as the stage.
  Program& Start(const std::string& name, std::vector<std::string> arguments, Options options);
  Program& Start(const std::string& name, std::vector<std::string> arguments) {
    return Start(name, std::move(arguments), Options{});
  }

  // Runs a command to its end; one that takes longer than the deadline is killed and gives -9.
  Outcome Run(std::vector<std::string> command, Options options);
  Outcome Run(std::vector<std::string> command) { return Run(std::move(command), Options{}); }

  // Lets the loop run until `condition` holds, which is asked every few milliseconds; false when it
  // does not within `deadline` of real time.
  bool Until(const std::function<bool()>& condition, Duration deadline = std::chrono::seconds(20));

  const std::string& directory() const { return directory_; }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  bool HasFile(const std::string& name) const;
  std::string Read(const std::string& name) const;  // "" when there is none
  // Writes a file of the directory and gives its path.
  std::string Write(const std::string& name, const std::string& text) const;

  EpollLoop& loop() { return *loop_; }

 private:
  std::string LogPath(const std::string& name) const;

  std::string directory_;
  std::unique_ptr<EpollLoop> loop_;
  std::vector<std::unique_ptr<Program>> programs_;
  int runs_ = 0;
};

// The path of a program of this build.
std::string BuiltProgram(const std::string& name);

}  // namespace galen::e2e
