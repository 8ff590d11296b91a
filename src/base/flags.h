// A program's command line: flags, subcommands, --help, --version. CLI11 behind it. Only main uses
// it, on one thread and before any loop: Add… what there is, Parse once, then Run. The variables
// given to Add… are borrowed and outlive this; they are written when Parse returns nullopt.
// Defaults are what they hold before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace galen {

// What sysexits.h calls EX_USAGE: the command line or a configuration is wrong, nothing was
// started. Distinguishes an operator's mistake from a failure at run time, which a restart may
// mend.
inline constexpr int kExitUsage = 64;
// Any other failure.
inline constexpr int kExitFailed = 1;

class Flags {
 public:
  // `program` is the name shown in help and faults; `version` what --version prints.
  Flags(std::string program, std::string description, std::string version);
  ~Flags();

  // `name` is "--node", or "-o,--output". What `value` holds before is the default shown by --help.
  void Add(const std::string& name, std::string& value, const std::string& help);
  // Any whole number; bounds are for the program to check, together with the rest of its config.
  void Add(const std::string& name, std::int64_t& value, const std::string& help);
  void Add(const std::string& name, Duration& value, const std::string& help);  // "250ms", "30s"
  // May be named many times; each time one value is added to the list.
  void Add(const std::string& name, std::vector<std::string>& value, const std::string& help);
  // True when it is named; takes no value.
  void AddSwitch(const std::string& name, bool& value, const std::string& help);
  // One of `choices`, anything else is a fault that lists them. The default need not be among them.
  void AddChoice(const std::string& name, std::string& value, std::vector<std::string> choices,
                 const std::string& help);
  // A positional argument, in the order of these calls.
  void AddPositional(const std::string& name, std::string& value, const std::string& help,
                     bool required = true);
  // All positional arguments that are left; none is fine.
  void AddPositionals(const std::string& name, std::vector<std::string>& values,
                      const std::string& help);

  // A command of this one: "galen get". Lives as long as this; may have flags and commands of its
  // own. Flags of this one may also be said after the command. `run` gives the exit code; without
  // one, a command below it must be named, where there are any.
  Flags& AddCommand(const std::string& name, const std::string& help,
                    std::function<int()> run = {});

  // Checks that need several values together. Called when this is the program, or the command that
  // was named, also after faults of other values, which then have their defaults. Each line of an
  // error is reported as a fault along with the others. Must have no side effects.
  void AddCheck(std::function<Status()> check);

  // Reads the command line, once. nullopt: go on (and Run() runs the chosen command). Otherwise
  // leave with this code: 0 after --help or --version, kExitUsage after faults, which are written
  // to standard error, each on a line that names the program.
  std::optional<int> Parse(int argc, char** argv);
  // What --help prints for a command: "rules check" names one below "rules", "" this one. NotFound
  // names the commands there are.
  StatusOr<std::string> Help(const std::string& command) const;
  // Runs the deepest command that was named and gives its exit code; 0 when there is none.
  // REQUIRES: Parse gave nullopt.
  int Run();

 private:
  struct Impl;
  explicit Flags(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
