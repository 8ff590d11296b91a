// Tested by tests/e2e, as the program galen.
#include "cli/app.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>

#include "base/flags.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/completion.h"
#include "cli/demo.h"
#include "cli/get.h"
#include "cli/inject.h"
#include "cli/options.h"
#include "cli/watch.h"
#include "cli/why.h"

namespace galen::cli {
namespace {

constexpr int kExitFailed = 1;

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int Fail(const Status& status) {
  std::fprintf(stderr, "galen: %s\n", status.message().c_str());
  return status.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed;
}

int PrintOrFail(const StatusOr<std::string>& text) {
  if (!text.ok()) return Fail(text.status());
  Print(*text);
  return 0;
}

int CodeOrFail(const StatusOr<int>& code) { return code.ok() ? *code : Fail(code.status()); }

// The programs that the demo starts lie beside this one.
std::string OwnDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// What the command line of one run said; commands read it when they run.
struct Arguments {
  Options options;
  std::string kind = "pods", name, pod, shell = "bash";
  bool follow = false, all_namespaces = false, no_colour = false;
  InjectArguments inject;
  DemoArguments demo;
};

void AddGet(Flags& flags, Arguments& arguments) {
  Flags& get =
      flags.AddCommand("get", "show devices, pods (with devices), nodes or drivers", [&arguments] {
        if (arguments.follow)
          return CodeOrFail(Watch(arguments.options, arguments.kind, arguments.name, Print));
        return PrintOrFail(Get(arguments.options, arguments.kind, arguments.name));
      });
  get.AddPositional("kind", arguments.kind, "devices, pods, nodes or drivers");
  get.AddPositional("name", arguments.name, "only the one of this name", false);
  get.AddSwitch("-w,--watch", arguments.follow, "stay, and show what changes");
}

void AddWatch(Flags& flags, Arguments& arguments) {
  Flags& watch =
      flags.AddCommand("watch", "the live table; a line for each change in a pipe", [&arguments] {
        return CodeOrFail(Watch(arguments.options, arguments.kind, arguments.name, Print));
      });
  watch.AddPositional("kind", arguments.kind, "devices, pods, nodes or drivers", false);
}

void AddWhy(Flags& flags, Arguments& arguments) {
  Flags& why = flags.AddCommand("why", "the line of causes of a Pod's devices", [&arguments] {
    return PrintOrFail(Why(arguments.options, arguments.pod));
  });
  why.AddPositional("pod", arguments.pod, "NAME, pod/NAME or NAMESPACE/NAME");
}

void AddInject(Flags& flags, Arguments& arguments) {
  Flags& inject = flags.AddCommand(
      "inject", "make a simulated device show a sign (simulator only)",
      [&arguments] { return PrintOrFail(Inject(arguments.options, arguments.inject)); });
  inject.AddPositional("device", arguments.inject.device, "gpu-3; without it: what can be injected",
                       false);
  inject.AddPositional("sign", arguments.inject.sign, "xid=79, temperature=91, … or reset", false);
  inject.Add("--driver", arguments.inject.driver,
             "the driver's name, when the agent knows several");
  inject.Add("--driver-socket", arguments.inject.driver_socket, "ask this socket; no agent needed");
}

void AddDemo(Flags& flags, Arguments& arguments) {
  Flags& demo = flags.AddCommand(
      "demo", "a GPU fails and its Pod says so: real processes, one minute", [&arguments] {
        if (arguments.demo.bin_directory.empty()) arguments.demo.bin_directory = OwnDirectory();
        return CodeOrFail(Demo(arguments.options, arguments.demo));
      });
  demo.AddSwitch("--batch", arguments.demo.batch,
                 "plain lines; exit code 0 only if each step was seen");
  demo.AddSwitch("--keep", arguments.demo.keep, "leave it running at the end, until Ctrl-C");
  demo.AddSwitch("--kernel-log", arguments.demo.kernel_log,
                 "write the fault as a real line to /dev/kmsg");
  demo.Add("--directory", arguments.demo.directory, "where its own directory is made");
}

std::string VersionText(const Options& options) {
  if (options.output == "json" || options.output == "yaml") {
    return Json::MakeObject({{"version", kVersion}}).DumpPretty() + "\n";
  }
  return "galen " + std::string(kVersion) + "\n";
}

void AddOthers(Flags& flags, Arguments& arguments) {
  flags.AddCommand("version", "print the version", [&arguments] {
    Print(VersionText(arguments.options));
    return 0;
  });
  Flags& completion =
      flags.AddCommand("completion", "a completion script for bash, zsh or fish",
                       [&arguments] { return PrintOrFail(CompletionScript(arguments.shell)); });
  completion.AddPositional("shell", arguments.shell, "bash, zsh or fish");
}

void AddGlobals(Flags& flags, Arguments& arguments) {
  Options& options = arguments.options;
  flags.Add("--kubeconfig", options.cluster.path, "the kubeconfig file");
  flags.Add("--context", options.cluster.context, "the kubeconfig's context");
  flags.Add("-n,--namespace", options.ns, "Pods of this namespace only");
  flags.AddSwitch("-A,--all-namespaces", arguments.all_namespaces,
                  "Pods of all namespaces (the default)");
  flags.AddChoice("-o,--output", options.output, {"table", "wide", "json", "yaml"}, "how to print");
  flags.Add("--agent-socket", options.agent_socket, "the socket of this node's agent");
  flags.AddSwitch("--no-color", arguments.no_colour, "no colours; NO_COLOR says the same");
}

}  // namespace

int RunGalen(int argc, char** argv, Environment environment) {
  Arguments arguments;
  arguments.options.terminal = isatty(STDOUT_FILENO) != 0;
  arguments.options.environment = std::move(environment);
  Flags flags("galen", "Device health on Kubernetes, from the hardware to the Pod",
              std::string(kVersion));
  AddGlobals(flags, arguments);
  AddGet(flags, arguments);
  AddWhy(flags, arguments);
  AddWatch(flags, arguments);
  AddInject(flags, arguments);
  AddDemo(flags, arguments);
  AddOthers(flags, arguments);
  if (const auto code = flags.Parse(argc, argv)) return *code;
  if (arguments.all_namespaces) arguments.options.ns.clear();
  arguments.options.colour = arguments.options.terminal && !arguments.no_colour &&
                             !Lookup(arguments.options.environment, "NO_COLOR");
  return flags.Run();
}

}  // namespace galen::cli
