// Tested by tests/e2e/galen_test.cc, as the program galen.
#include "cli/commands/app.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/data/json.h"
#include "base/data/yaml.h"
#include "base/flags.h"
#include "base/version.h"
#include "cli/check/check.h"
#include "cli/commands/commands.h"
#include "cli/commands/conformance.h"
#include "cli/commands/get.h"
#include "cli/commands/post_mortem.h"
#include "cli/commands/why.h"
#include "cli/options.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"

namespace galen::cli {
namespace {

// InvalidArgument is an error in the command line.
int Fail(const Status& status) {
  PrintError(status.message());
  return status.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed;
}

int CodeOrFail(const StatusOr<int>& code) { return code.ok() ? *code : Fail(code.status()); }

// The programs that the demo starts are in the same directory as this one.
std::string OwnDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// The command line of one run, and its output. Flags write into it while they are parsed; commands
// read it when they run.
struct Arguments {
  Options options;
  Output output{STDOUT_FILENO};
  std::string kind = "pods", name, pod, shell = "bash";
  std::vector<std::string> help_of;
  bool follow = false, all_namespaces = false, no_colour = false;
  ExplainArguments explain;
  InjectArguments inject;
  DemoArguments demo;
  DevNodeArguments dev_node;
  ConformanceArguments conformance;
  DoctorArguments doctor;
  CheckArguments check;
  std::string rules, rule, recording;
  RecordArguments record;
};

int PrintOrFail(Arguments& arguments, const StatusOr<std::string>& text) {
  if (!text.ok()) return Fail(text.status());
  arguments.output.Write(*text);
  return CodeOrFail(ExitCodeOf(arguments.output));
}

int AnswerOrFail(Arguments& arguments, const StatusOr<Answer>& answer) {
  if (!answer.ok()) return Fail(answer.status());
  for (const std::string& note : answer->notes) PrintError(note);
  return PrintOrFail(arguments, answer->text);
}

int Follow(Arguments& arguments) {
  return CodeOrFail(Watch(arguments.options, arguments.kind, arguments.name, arguments.output));
}

int GetOrFollow(Arguments& arguments) {
  if (arguments.follow) return Follow(arguments);
  return AnswerOrFail(arguments, Get(arguments.options, arguments.kind, arguments.name));
}

void AddGet(Flags& flags, Arguments& arguments) {
  Flags& get =
      flags.AddCommand("get", "show devices, pods (with devices), nodes, drivers or checks",
                       [&arguments] { return GetOrFollow(arguments); });
  get.AddPositional("kind", arguments.kind,
                    "devices, pods, nodes or drivers; checks that are commands, on their node");
  get.AddPositional("name", arguments.name,
                    "only the one of this name; for a Pod NAME, pod/NAME or NAMESPACE/NAME", false);
  get.AddSwitch("-w,--watch", arguments.follow, "stay, and show what changes");
}

void AddWatch(Flags& flags, Arguments& arguments) {
  Flags& watch = flags.AddCommand("watch", "the live table; a line for each change in a pipe",
                                  [&arguments] { return Follow(arguments); });
  watch.AddPositional("kind", arguments.kind, "devices, pods, nodes or drivers; pod/NAME", false);
}

void AddWhy(Flags& flags, Arguments& arguments) {
  Flags& why = flags.AddCommand(
      "why", "each step that led to the state of a Pod's devices",
      [&arguments] { return PrintOrFail(arguments, Why(arguments.options, arguments.pod)); });
  why.AddPositional("pod", arguments.pod, "NAME, pod/NAME or NAMESPACE/NAME");
}

void AddPostMortem(Flags& flags, Arguments& arguments) {
  Flags& command = flags.AddCommand(
      "post-mortem", "how Pods with devices ended, also those that are gone",
      [&] { return AnswerOrFail(arguments, PostMortems(arguments.options, arguments.pod)); });
  command.AddPositional("pod", arguments.pod,
                        "the whole record of NAME, pod/NAME or NAMESPACE/NAME; without it: a list",
                        false);
}

void AddInject(Flags& flags, Arguments& arguments) {
  Flags& inject = flags.AddCommand(
      "inject", "make a simulated device fail, or show a reading (simulator only)",
      [&arguments] { return PrintOrFail(arguments, Inject(arguments.options, arguments.inject)); });
  inject.AddPositional("device", arguments.inject.device, "gpu-3; without it: what can be injected",
                       false);
  inject.AddPositional("sign", arguments.inject.sign,
                       "xid=79, temperature=91, …; reset=host, or reset alone, ends them", false);
  inject.Add("--driver", arguments.inject.driver,
             "the driver's name, when several have the device");
  inject.Add("--driver-socket", arguments.inject.driver_socket, "ask this socket; no agent needed");
}

void AddDemo(Flags& flags, Arguments& arguments) {
  Flags& demo = flags.AddCommand(
      "demo", "a GPU fails and its Pod says so: real processes, one minute", [&arguments] {
        if (arguments.demo.bin_directory.empty()) arguments.demo.bin_directory = OwnDirectory();
        return CodeOrFail(Demo(arguments.options, arguments.demo, arguments.output));
      });
  demo.AddSwitch("--batch", arguments.demo.batch,
                 "plain lines; exit code 0 only if each step was seen");
  demo.AddSwitch("--keep", arguments.demo.keep, "leave it running at the end, until Ctrl-C");
  demo.AddSwitch("--kernel-log", arguments.demo.kernel_log,
                 "write the fault as a real line to /dev/kmsg");
  demo.Add("--directory", arguments.demo.directory, "where its own directory is made");
}

void AddDevNode(Flags& flags, Arguments& arguments) {
  DevNodeArguments& node = arguments.dev_node;
  Flags& command = flags.AddCommand(
      "dev-node", "a node on this machine, for people who write drivers", [&arguments] {
        arguments.dev_node.bin_directory = OwnDirectory();
        return CodeOrFail(DevNode(arguments.options, arguments.dev_node, arguments.output));
      });
  command.Add("--dir", node.directory, "where everything lies; removed at the end");
  command.Add("--node", node.node, "the node's name");
  command.Add("--driver-sim", node.simulated_gpus, "also a driver of so many simulated GPUs");
  command.AddSwitch("--as-root", node.as_root, "let Pods run as root of this machine");
}

// The flags outlive the run of their command.
void AddHelp(Flags& flags, Arguments& arguments) {
  Flags& help = flags.AddCommand("help", "what a command does, and its flags", [&] {
    const StatusOr<std::string> text =
        flags.Help(fmt::format("{}", fmt::join(arguments.help_of, " ")));
    // An unknown command is an error in the command line.
    if (!text.ok()) return Fail(InvalidArgument("{}", text.status().message()));
    return PrintOrFail(arguments, text);
  });
  help.AddPositionals("command", arguments.help_of, "get, why, watch, …; rules check");
}

// For explain, conformance and doctor: their exit code has precedence over an error of the output.
template <typename Result>
int ReportOrFail(Arguments& arguments, const Result& result) {
  if (!result.problem.empty()) PrintError(result.problem);
  arguments.output.Write(result.text);
  const int written = CodeOrFail(ExitCodeOf(arguments.output));
  return result.code != 0 ? result.code : written;
}

void AddExplain(Flags& flags, Arguments& arguments) {
  ExplainArguments& explain = arguments.explain;
  Flags& command = flags.AddCommand(
      "explain", "which devices a Pod or a claim can have, or why none", [&arguments] {
        const auto end = Explain(arguments.options, arguments.explain);
        return end.ok() ? ReportOrFail(arguments, *end) : Fail(end.status());
      });
  command.AddPositional("kind", explain.kind, "pod or claim", false);
  command.AddPositional("name", explain.name, "NAME or NAMESPACE/NAME", false);
  command.Add("-f,--filename", explain.file,
              "a manifest that need not be applied; - is standard input");
  command.Add(
      "--if", explain.changes,
      "as if this had happened; may be repeated: quarantine=DRIVER/POOL/DEVICE, drain=NODE, "
      "delete=NAMESPACE/POD, add-node=NODE. Alone: who would lose devices, and get others");
}

void AddDoctor(Flags& flags, Arguments& arguments) {
  DoctorArguments& doctor = arguments.doctor;
  Flags& command =
      flags.AddCommand("doctor", "what is wrong with this node, and what to do", [&arguments] {
        return ReportOrFail(arguments, Doctor(arguments.options, arguments.doctor));
      });
  command.Add("--node", doctor.node, "this node's name; $NODE_NAME, or what the agent says");
  command.Add("--kubelet-root", doctor.kubelet_root,
              "the kubelet's root; that of the agent's drivers, else /var/lib/kubelet");
  command.Add("--registry", doctor.registry, "where drivers register; below the root unless given");
  command.Add("--state-dir", doctor.state_dir, "the agent's");
  command.Add("--compatibility", doctor.compatibility,
              "what an image needs, as Node Feature Discovery has it (v1alpha1)");
  command.Add("--expect", doctor.expect,
              "a file of the devices and firmware that this node should have");
  command.Add("--cdi-root", doctor.cdi_roots,
              "a CDI directory, may be repeated; /etc/cdi and /var/run/cdi unless given");
  command.Add("--agent-account", doctor.agent_account,
              "NAMESPACE/NAME whose rights are looked at; the agent's Pod names it");
  command.AddChoice("-o,--output", doctor.output, {"table", "wide", "json", "junit"},
                    "how to print; wide shows what is healthy, too");
}

void AddConformance(Flags& flags, Arguments& arguments) {
  ConformanceArguments& conformance = arguments.conformance;
  Flags& command = flags.AddCommand(
      "conformance", "check a DRA driver; plays a kubelet, so not beside one that uses it",
      [&arguments] {
        return ReportOrFail(arguments, Conformance(arguments.options, arguments.conformance));
      });
  command.AddPositional("driver", conformance.what,
                        "a registry directory, a registration socket, or a driver's name");
  command.AddSwitch("--read-only", conformance.read_only,
                    "only GetInfo, health, slices and files; the default in a kubelet's registry");
  command.AddSwitch("--full", conformance.full, "play a kubelet even there: when none runs");
  command.Add("--kubelet-root", conformance.kubelet_root,
              "the kubelet's root; the directory above plugins_registry unless given");
  command.Add("--cdi-root", conformance.cdi_roots, "a CDI directory; may be repeated");
  command.Add("--node", conformance.node, "this node, when the driver publishes on several");
  command.Add("--patience", conformance.patience, "how long repeated reports are waited for");
  command.AddChoice("-o,--output", conformance.output, {"text", "json", "junit"}, "how to print");
}

int CheckOrFail(Arguments& arguments) {
  const CheckEnd end = Check(arguments.options, arguments.check);
  const int code = ReportOrFail(arguments, end);
  // A thread that hangs in a call can neither be ended nor waited for.
  if (end.hangs) std::_Exit(code);
  return code;
}

void AddCheck(Flags& flags, Arguments& arguments) {
  CheckArguments& check = arguments.check;
  Flags& command = flags.AddCommand(
      "check", "compute on a device and compare each bit; several devices: their links",
      [&arguments] { return CheckOrFail(arguments); });
  command.AddPositionals("device", check.devices, "cpu, gpu-0, a GPU's UUID or PCI address");
  command.Add("--seconds", check.seconds, "how long, 1 to 86400");
  command.Add("--rounds", check.rounds, "end after so many rounds, if the time lets it");
  command.Add("--memory", check.memory,
              "the share of the free memory to test; 80% of a GPU's, 5% and at most 256 MiB of "
              "the machine's unless given");
  command.Add("--max-temperature", check.max_temperature,
              "in °C: hotter, the check stops without a result");
  command.Add("--call-timeout", check.call_timeout, "a call of the driver that lasts longer hangs");
  command.Add("--seed", check.seed, "of random patterns, as a check before printed it");
  command.Add("--driver", check.driver,
              "the DRA driver of the device: its state directory gets the result, and so the Pod");
  command.Add("--results", check.results, "the directory for the result, instead of --driver's");
  command.Add("--kubelet-root", check.kubelet_root, "the kubelet's root, above plugins");
  command.AddSwitch("--in-use-too", check.in_use_too, "check devices that Pods hold, too");
  command.Add("--cuda", check.cuda, "NVIDIA's CUDA driver");
  command.Add("--nvml", check.nvml, "NVIDIA's management library, for the temperature");
  command.Add("--sysfs-root", check.sysfs_root, "where sysfs is mounted");
  command.Add("--proc-root", check.proc_root, "where proc is mounted");
  command.AddChoice("-o,--output", check.output, {"table", "json"}, "how to print");
}

std::string VersionText(const Options& options) {
  const Json json = Json::MakeObject({{"version", kVersion}});
  if (options.output == "json") return json.DumpPretty() + "\n";
  if (options.output == "yaml") return WriteYaml(json);
  return "galen " + std::string(kVersion) + "\n";
}

void AddRecord(Flags& rules, Arguments& arguments) {
  RecordArguments& record = arguments.record;
  Flags& command = rules.AddCommand(
      "record", "record what devices of this node show, to be tried by test --replay",
      [&arguments] {
        return PrintOrFail(arguments, RecordRules(arguments.rules, arguments.record));
      });
  command.AddPositional("file", arguments.rules, "a file, or a built-in table such as pci");
  command.Add("--out", record.directory, "a new directory for the recording");
  command.Add("--pattern", record.patterns,
              "which directories below /sys are devices, e.g. 'class/nvme/nvme*'; may be repeated");
  command.Add("--sysfs-root", record.sysfs_root, "where sysfs is mounted");
  command.Add("--kernel-log", record.kernel_log, "also keep faults of this log, e.g. /dev/kmsg");
  command.Add("--nvml", record.nvml,
              "also keep what NVIDIA's library says, e.g. libnvidia-ml.so.1");
  command.Add("--for", record.length, "how long; Ctrl-C ends it before");
  command.Add("--every", record.every, "how often devices are looked at");
  command.AddSwitch("--hash-serials", record.hash_serials,
                    "write serial numbers, UUIDs and addresses as hashes");
}

// The exit code is the same however it is printed.
int CheckRulesOrFail(Arguments& arguments) {
  const std::string& format = arguments.options.output;
  if (format != "json" && format != "yaml") {
    return PrintOrFail(arguments, CheckRules(arguments.rules));
  }
  const StatusOr<Json> check = CheckRulesAsJson(arguments.rules);
  if (!check.ok()) return Fail(check.status());
  const std::string text = format == "json" ? check->DumpPretty() + "\n" : WriteYaml(*check);
  const int printed = PrintOrFail(arguments, text);
  return printed == 0 && !(*check)["faults"].items().empty() ? kExitUsage : printed;
}

void AddRules(Flags& flags, Arguments& arguments) {
  Flags& rules = flags.AddCommand("rules", "tables of rules: check, list, explain and try them");
  constexpr const char* kTable = "a file, or a built-in table such as pci";
  Flags& check = rules.AddCommand("check", "every fault of a table",
                                  [&arguments] { return CheckRulesOrFail(arguments); });
  check.AddPositional("file", arguments.rules, kTable);
  Flags& list = rules.AddCommand("list", "a line for each rule", [&arguments] {
    return PrintOrFail(arguments, ListRules(arguments.options, arguments.rules));
  });
  list.AddPositional("file", arguments.rules, kTable);
  Flags& explain = rules.AddCommand("explain", "what each rule reads, and when it holds", [&] {
    return PrintOrFail(arguments, ExplainRules(arguments.rules, arguments.rule));
  });
  explain.AddPositional("file", arguments.rules, kTable);
  explain.AddPositional("rule", arguments.rule, "only the one of this id", false);
  Flags& test = rules.AddCommand("test", "which rules begin and end in a recording", [&arguments] {
    return PrintOrFail(arguments, TestRules(arguments.rules, arguments.recording));
  });
  test.AddPositional("file", arguments.rules, kTable);
  test.Add("--replay", arguments.recording, "a directory of steps: TIME/DEVICE/files");
  rules.AddCommand("schema", "the JSON schema of tables, for editors and CI",
                   [&arguments] { return PrintOrFail(arguments, SchemaOfRules()); });
  AddRecord(rules, arguments);
}

void AddOthers(Flags& flags, Arguments& arguments) {
  flags.AddCommand("version", "print the version",
                   [&arguments] { return PrintOrFail(arguments, VersionText(arguments.options)); });
  Flags& completion = flags.AddCommand(
      "completion", "a completion script for bash, zsh or fish",
      [&arguments] { return PrintOrFail(arguments, CompletionScript(arguments.shell)); });
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
  flags.Add("--agent-socket", options.agent_socket,
            "the socket of this node's agent; GALEN_AGENT_SOCKET says the same");
  flags.AddSwitch("--no-color", arguments.no_colour, "no colours; NO_COLOR says the same");
}

}  // namespace

int RunGalen(int argc, char** argv, Environment environment) {
  Arguments arguments;
  arguments.options.terminal = isatty(STDOUT_FILENO) != 0;
  if (arguments.options.terminal) arguments.options.columns = SizeOfTerminal(STDOUT_FILENO).columns;
  arguments.options.environment = std::move(environment);
  // Before the flags are read: --agent-socket wins.
  if (const auto socket = Lookup(arguments.options.environment, "GALEN_AGENT_SOCKET")) {
    arguments.options.agent_socket = *socket;
  }
  Flags flags("galen", "Device health on Kubernetes, from the hardware to the Pod",
              std::string(kVersion));
  AddGlobals(flags, arguments);
  AddGet(flags, arguments);
  AddWhy(flags, arguments);
  AddExplain(flags, arguments);
  AddPostMortem(flags, arguments);
  AddWatch(flags, arguments);
  AddInject(flags, arguments);
  AddDemo(flags, arguments);
  AddDevNode(flags, arguments);
  AddConformance(flags, arguments);
  AddDoctor(flags, arguments);
  AddCheck(flags, arguments);
  AddRules(flags, arguments);
  AddOthers(flags, arguments);
  AddHelp(flags, arguments);
  // After help, the version or a fault nothing is left to do.
  if (const auto code = flags.Parse(argc, argv)) return *code;
  // -A beats -n, as kubectl has it.
  if (arguments.all_namespaces) arguments.options.ns.clear();
  // An empty NO_COLOR has no effect (no-color.org), and Lookup ignores it.
  arguments.options.colour = arguments.options.terminal && !arguments.no_colour &&
                             !Lookup(arguments.options.environment, "NO_COLOR");
  return flags.Run();
}

}  // namespace galen::cli
