// A program's command line: flags, subcommands, --help, --version. CLI11 behind it.
// Values are written when Parse returns nullopt.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace galen {

// What sysexits.h calls EX_USAGE: the command line or a configuration is wrong, nothing was
// started.
inline constexpr int kExitUsage = 64;

class Flags {
 public:
  Flags(std::string program, std::string description, std::string version);
  ~Flags();

  // `name` is "--node", or "-o,--output". What `value` holds before is the default shown by --help.
  void Add(const std::string& name, std::string& value, const std::string& help);
  void Add(const std::string& name, std::int64_t& value, const std::string& help);
  void Add(const std::string& name, Duration& value, const std::string& help);  // "250ms", "30s"
  void Add(const std::string& name, std::vector<std::string>& value, const std::string& help);
  void AddSwitch(const std::string& name, bool& value, const std::string& help);
  void AddChoice(const std::string& name, std::string& value, std::vector<std::string> choices,
                 const std::string& help);
  void AddPositional(const std::string& name, std::string& value, const std::string& help,
                     bool required = true);
  void AddPositionals(const std::string& name, std::vector<std::string>& values,
                      const std::string& help);

  // A command of this one: "galen get". Lives as long as this. `run` gives the exit code.
  Flags& AddCommand(const std::string& name, const std::string& help,
                    std::function<int()> run = {});

  // nullopt: go on (and Run() runs the chosen command). Otherwise leave with this code: 0 after
  // --help or --version, kExitUsage after a fault, which is written to standard error.
  std::optional<int> Parse(int argc, char** argv);
  int Run();

 private:
  struct Impl;
  explicit Flags(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
