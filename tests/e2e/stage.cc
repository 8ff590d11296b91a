#include "tests/e2e/stage.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace galen::e2e {
namespace {

// How often a condition is looked at; the wait ends at most this late.
constexpr Duration kLookEvery = std::chrono::milliseconds(5);
// As much of a log as a person reads in a test's output.
constexpr std::size_t kTailBytes = 4000;

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int CodeOf(const Process::Exit& exit) { return exit.signal != 0 ? -exit.signal : exit.code; }

}  // namespace

std::string Program::Log() const { return ReadWhole(log_path_); }

std::string BuiltProgram(const std::string& name) {
  return std::string(GALEN_BINARY_DIR) + "/bin/" + name;
}

Stage::Stage() : loop_(EpollLoop::Create().value()) {
  char name[] = "/tmp/galen-e2e-XXXXXX";
  GALEN_CHECK(::mkdtemp(name) != nullptr);
  directory_ = name;
}

Stage::~Stage() {
  // Kills what still runs; before the directory goes, into which it writes.
  for (const auto& program : programs_) program->process_.reset();
  if (!::testing::Test::HasFailure()) {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    return;
  }
  fmt::print(stderr, "e2e: the files of the failed test are kept in {}\n", directory_);
  for (const auto& program : programs_) {
    std::string log = program->Log();
    if (log.size() > kTailBytes) log.erase(0, log.size() - kTailBytes);
    fmt::print(stderr, "--- end of the log of {}\n{}\n", program->name_, log);
  }
}

Program& Stage::Start(const std::string& name, std::vector<std::string> arguments,
                      Options options) {
  auto program = std::make_unique<Program>();
  program->name_ = name;
  program->log_path_ = LogPath(std::filesystem::path(name).filename());
  arguments.insert(arguments.begin(),
                   name.find('/') == std::string::npos ? BuiltProgram(name) : name);
  Program* started = program.get();
  programs_.push_back(std::move(program));
  auto process = Process::Start(*loop_,
                                {.command = std::move(arguments),
                                 .environment = std::move(options.environment),
                                 .output_path = started->log_path_},
                                [started](Process::Exit exit) {
                                  started->ended_ = true;
                                  started->exit_code_ = CodeOf(exit);
                                });
  if (!process.ok()) {
    ADD_FAILURE() << process.status().message();
    started->ended_ = true;
    return *started;
  }
  started->process_ = std::move(process).value();
  return *started;
}

Outcome Stage::Run(std::vector<std::string> command, Options options) {
  const std::string error_path = Path(fmt::format("run-{}.err", ++runs_));
  // The shell only parts standard error from standard output; arguments pass through untouched.
  command.insert(command.begin(), {"/bin/sh", "-c", "exec \"$@\" 2>\"$0\"", error_path});
  Outcome outcome{.exit_code = -9, .output = {}, .error = {}};
  bool ended = false;
  auto process =
      Process::Start(*loop_,
                     {.command = std::move(command),
                      .environment = std::move(options.environment),
                      .on_output = [&outcome](std::string_view bytes) { outcome.output += bytes; }},
                     [&](Process::Exit exit) {
                       ended = true;
                       outcome.exit_code = CodeOf(exit);
                     });
  if (!process.ok()) {
    outcome.error = process.status().message();
    return outcome;
  }
  Until([&ended] { return ended; }, options.deadline);
  outcome.error = ReadWhole(error_path);
  std::filesystem::remove(error_path);
  return outcome;
}

bool Stage::Until(const std::function<bool()>& condition, Duration deadline) {
  const Time give_up = loop_->Now() + deadline;
  bool holds = condition();
  while (!holds && loop_->Now() < give_up) {
    const Timer look = loop_->After(kLookEvery, [this] { loop_->Stop(); });
    loop_->Run();
    holds = condition();
  }
  return holds;
}

bool Stage::HasFile(const std::string& name) const { return std::filesystem::exists(Path(name)); }

std::string Stage::Read(const std::string& name) const { return ReadWhole(Path(name)); }

std::string Stage::Write(const std::string& name, const std::string& text) const {
  std::ofstream(Path(name), std::ios::binary) << text;
  return Path(name);
}

std::string Stage::LogPath(const std::string& name) const {
  std::string path = Path(name + ".log");
  for (int number = 2; std::filesystem::exists(path); ++number) {
    path = Path(fmt::format("{}-{}.log", name, number));
  }
  return path;
}

}  // namespace galen::e2e
