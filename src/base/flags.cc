#include "base/flags.h"

#include <CLI/CLI.hpp>
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

}  // namespace

struct Flags::Impl {
  std::unique_ptr<CLI::App> root;  // empty in commands, which their parent's App owns
  CLI::App* app = nullptr;
  std::vector<std::unique_ptr<Flags>> commands;
  std::function<int()> run;

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
  impl_->app->set_version_flag("--version", std::move(version));
  impl_->app->set_help_flag("-h,--help", "Print this and leave");
}

Flags::Flags(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Flags::~Flags() = default;

void Flags::Add(const std::string& name, std::string& value, const std::string& help) {
  impl_->app->add_option(name, value, help)->capture_default_str();
}

void Flags::Add(const std::string& name, std::int64_t& value, const std::string& help) {
  impl_->app->add_option(name, value, help)->capture_default_str();
}

// CLI11 knows no durations: it hands over text, which is checked before it is set.
void Flags::Add(const std::string& name, Duration& value, const std::string& help) {
  const auto set = [&value](const std::string& text) { value = *ParseDuration(text); };
  // CLI11 asks this before it sets; "" is no fault.
  const auto fault = [](const std::string& text) { return ParseDuration(text).status().message(); };
  impl_->app->add_option_function<std::string>(name, set, help)
      ->check(fault)
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
  impl_->app->add_option(name, value, help)
      ->check(CLI::IsMember(std::move(choices)))
      ->capture_default_str();
}

void Flags::AddPositional(const std::string& name, std::string& value, const std::string& help,
                          bool required) {
  // CLI11 would print the type's name (TEXT) beside each word; a space leaves it out.
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
  // "galen get --context x" means what "galen --context x get" means.
  impl->app->fallthrough();
  impl->run = std::move(run);
  // None is refused by NeedsCommand, in our words; more than one has no meaning here.
  impl_->app->require_subcommand(0, 1);
  impl_->commands.push_back(std::unique_ptr<Flags>(new Flags(std::move(impl))));
  return *impl_->commands.back();
}

std::optional<int> Flags::Parse(int argc, char** argv) {
  CLI::App& app = *impl_->app;
  std::string fault;
  // CLI11 speaks by exceptions; they end here.
  try {
    app.parse(argc, argv);
    if (!impl_->NeedsCommand()) return std::nullopt;
    fault = "a command is missing";
  } catch (const CLI::ParseError& error) {
    // Prints the help or the version, and gives 0 for both.
    if (error.get_exit_code() == 0) return app.exit(error);
    fault = error.what();
  }
  // No log yet: its level is one of the flags.
  std::cerr << fmt::format("{}: {}\nRun \"{} --help\" for what can be said.\n", app.get_name(),
                           fault, app.get_name());
  return kExitUsage;
}

int Flags::Run() {
  for (const auto& command : impl_->commands) {
    if (command->impl_->app->parsed()) return command->Run();
  }
  return impl_->run ? impl_->run() : 0;
}

}  // namespace galen
