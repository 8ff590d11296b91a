#include "base/flags.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>

namespace galen {
namespace {

// The shortest of the forms that ParseDuration reads.
std::string FormatDuration(Duration duration) {
  struct Unit {
    Duration size;
    const char* name;
  };
  const Unit units[] = {{std::chrono::hours(1), "h"},         {std::chrono::minutes(1), "m"},
                        {std::chrono::seconds(1), "s"},       {std::chrono::milliseconds(1), "ms"},
                        {std::chrono::microseconds(1), "us"}, {Duration(1), "ns"}};
  std::string text;
  for (const Unit& unit : units) {
    if (duration >= unit.size) text += fmt::format("{}{}", duration / unit.size, unit.name);
    duration %= unit.size;
  }
  return text.empty() ? "0s" : text;
}

// The words, without each "--flag=" that has no value, which is a fault: CLI11 would take the next
// word as the value, so an unset shell variable would swallow the next flag.
std::vector<char*> WordsWithValues(int argc, char** argv, std::vector<std::string>& faults) {
  std::vector<char*> words;
  bool flags_end = false;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    flags_end = flags_end || word == "--";
    if (!flags_end && word.starts_with("--") && word.find('=') == word.size() - 1) {
      faults.push_back(fmt::format("{} has no value behind it", word));
    } else {
      words.push_back(argv[i]);
    }
  }
  return words;
}

}  // namespace

struct Flags::Impl {
  std::unique_ptr<CLI::App> root;  // empty in commands, which their parent's App owns
  CLI::App* app = nullptr;
  std::vector<std::unique_ptr<Flags>> commands;
  std::function<int()> run;
  std::function<Status()> check;
  // All faults of the command line, those of values first: CLI11 alone would stop at one. Kept by
  // the root, to which commands add theirs.
  std::vector<std::string> own_faults;
  std::vector<std::string>* faults = &own_faults;

  // Notes the fault instead of throwing it; the value stays as it is.
  void Fault(const std::string& name, std::string_view what) {
    faults->push_back(fmt::format("{}: {}", name, what));
  }

  // The deepest command that was named, with its parents: "galen get".
  const Impl* Named(std::string& path) const {
    for (const auto& command : commands) {
      const Impl& below = *command->impl_;
      if (!below.app->parsed()) continue;
      path += " " + below.app->get_name();
      return below.Named(path);
    }
    return this;
  }

  // CLI11's sentence, "kind is required", and what may be given there.
  std::string WhatIsMissing(const CLI::RequiredError& error) const {
    std::string path;
    for (const CLI::Option* option : Named(path)->app->get_options()) {
      if (!option->get_required() || !option->empty()) continue;
      return fmt::format("{} is missing: {}", option->get_name(), option->get_description());
    }
    return error.what();
  }

  // "check, list, explain".
  std::string NamesOfCommands() const {
    std::vector<std::string> names;
    for (const auto& command : commands) names.push_back(command->impl_->app->get_name());
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // The message for words that no option takes: where a command is expected, the first of them was
  // meant to be one.
  std::string WhatIsUnexpected(const std::vector<std::string>& words) const {
    std::string path;
    const Impl* named = Named(path);
    const bool is_command =
        !named->commands.empty() && !words.empty() && !words.front().starts_with('-');
    if (is_command) {
      return fmt::format("there is no command '{}'; there are {}", words.front(),
                         named->NamesOfCommands());
    }
    return fmt::format("unexpected argument: {}", fmt::join(words, " "));
  }

  // The help of the command that the words name; `path` are the commands above it.
  StatusOr<std::string> HelpOf(std::string_view words, const std::string& path) const {
    // Not App::help, which gives the help of the command that was parsed.
    if (words.empty()) {
      return app->get_formatter()->make_help(app, path, CLI::AppFormatMode::Normal);
    }
    const std::string_view name = words.substr(0, words.find(' '));
    std::vector<std::string> names;
    for (const auto& known : commands) {
      const Impl& below = *known->impl_;
      names.push_back(below.app->get_name());
      if (names.back() != name) continue;
      words.remove_prefix(std::min(name.size() + 1, words.size()));
      return below.HelpOf(words, path + " " + names.back());
    }
    if (names.empty()) return NotFound("{} has no commands", path);
    return NotFound("there is no command '{}'; there are {}", name, fmt::join(names, ", "));
  }

  // Whether what was parsed leaves nothing to run.
  bool NeedsCommand() const {
    for (const auto& command : commands) {
      if (command->impl_->app->parsed()) return command->impl_->NeedsCommand();
    }
    return !commands.empty() && !run;
  }
};

Flags::Flags(std::string program, std::string description, std::string version)
    : impl_(std::make_unique<Impl>()) {
  impl_->root = std::make_unique<CLI::App>(std::move(description), std::move(program));
  impl_->app = impl_->root.get();
  impl_->app->set_version_flag("--version", version);
  impl_->app->set_help_flag("-h,--help", "Print this and leave");
}

Flags::Flags(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Flags::~Flags() = default;

void Flags::Add(const std::string& name, std::string& value, const std::string& help) {
  impl_->app->add_option(name, value, help)->capture_default_str();
}

// CLI11 hands over text, here and for durations: what is wrong with it is ours to note.
void Flags::Add(const std::string& name, std::int64_t& value, const std::string& help) {
  const auto set = [impl = impl_.get(), name, &value](const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) {
      value = number;
    } else {
      impl->Fault(name, fmt::format("'{}' is not a whole number", text));
    }
  };
  impl_->app->add_option_function<std::string>(name, set, help)
      ->type_name("INT")
      ->default_str(fmt::format("{}", value));
}

void Flags::Add(const std::string& name, Duration& value, const std::string& help) {
  const auto set = [impl = impl_.get(), name, &value](const std::string& text) {
    const StatusOr<Duration> duration = ParseDuration(text);
    if (!duration.ok()) return impl->Fault(name, duration.status().message());
    value = *duration;
  };
  impl_->app->add_option_function<std::string>(name, set, help)
      ->type_name("DURATION")
      ->default_str(FormatDuration(value));
}

void Flags::Add(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  // One value each time it is named, or it would swallow what follows.
  impl_->app->add_option(name, value, help)->allow_extra_args(false)->capture_default_str();
}

void Flags::AddSwitch(const std::string& name, bool& value, const std::string& help) {
  impl_->app->add_flag(name, value, help);
}

void Flags::AddChoice(const std::string& name, std::string& value, std::vector<std::string> choices,
                      const std::string& help) {
  const auto set = [impl = impl_.get(), name, &value, choices](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
      value = text;
    } else {
      impl->Fault(name, fmt::format("'{}' is not one of {}", text, fmt::join(choices, ", ")));
    }
  };
  impl_->app->add_option_function<std::string>(name, set, help)
      ->type_name(fmt::format("TEXT:{{{}}}", fmt::join(choices, ",")))
      ->default_str(value);
}

void Flags::AddPositional(const std::string& name, std::string& value, const std::string& help,
                          bool required) {
  // CLI11 would print the type's name (TEXT) beside each argument; a space leaves it out.
  impl_->app->add_option(name, value, help)->required(required)->option_text(" ");
}

void Flags::AddPositionals(const std::string& name, std::vector<std::string>& values,
                           const std::string& help) {
  impl_->app->add_option(name, values, help)->option_text("...");
}

Flags& Flags::AddCommand(const std::string& name, const std::string& help,
                         std::function<int()> run) {
  auto impl = std::make_unique<Impl>();
  impl->app = impl_->app->add_subcommand(name, help);
  impl->faults = impl_->faults;
  // "galen get --context x" means what "galen --context x get" means.
  impl->app->fallthrough();
  impl->app->footer(
      fmt::format("What \"{} --help\" lists may stand here, too.", impl_->app->get_name()));
  impl->run = std::move(run);
  // A missing command is refused by NeedsCommand, with our message; several make no sense here.
  impl_->app->require_subcommand(0, 1);
  impl_->commands.push_back(std::unique_ptr<Flags>(new Flags(std::move(impl))));
  return *impl_->commands.back();
}

void Flags::AddCheck(std::function<Status()> check) { impl_->check = std::move(check); }

std::optional<int> Flags::Parse(int argc, char** argv) {
  CLI::App& app = *impl_->app;
  std::vector<std::string>& faults = *impl_->faults;
  const std::vector<char*> words = WordsWithValues(argc, argv, faults);
  // CLI11 reports by exceptions; they end here.
  try {
    app.parse(static_cast<int>(words.size()), words.data());
    if (impl_->NeedsCommand()) {
      std::string path;
      faults.push_back("a command is missing: " + impl_->Named(path)->NamesOfCommands());
    }
  } catch (const CLI::ExtrasError&) {
    // CLI11's own sentence has them in the reverse order.
    faults.push_back(impl_->WhatIsUnexpected(app.remaining(true)));
  } catch (const CLI::RequiredError& error) {
    faults.push_back(impl_->WhatIsMissing(error));
  } catch (const CLI::ParseError& error) {
    // Prints the help or the version, and gives 0 for both.
    if (error.get_exit_code() == 0) return app.exit(error);
    faults.push_back(error.what());
  }
  std::string path = app.get_name();
  const Impl* named = impl_->Named(path);
  const Status checked = named->check ? named->check() : OkStatus();
  if (!checked.ok()) faults.push_back(checked.message());
  if (faults.empty()) return std::nullopt;
  // No log yet: its level is one of the flags.
  for (const std::string& fault : faults) {
    for (std::size_t at = 0; at <= fault.size();) {
      const std::size_t end = std::min(fault.find('\n', at), fault.size());
      std::cerr << fmt::format("{}: {}\n", app.get_name(), fault.substr(at, end - at));
      at = end + 1;
    }
  }
  std::cerr << fmt::format("Run \"{} --help\" for usage.\n", path);
  return kExitUsage;
}

StatusOr<std::string> Flags::Help(const std::string& command) const {
  return impl_->HelpOf(command, impl_->app->get_name());
}

int Flags::Run() {
  for (const auto& command : impl_->commands) {
    if (command->impl_->app->parsed()) return command->Run();
  }
  return impl_->run ? impl_->run() : 0;
}

}  // namespace galen
