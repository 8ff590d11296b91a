// Commands of `galen` without a header of their own; each has a source file of its name. Those that
// share code with others (get, why, post-mortem, conformance) have headers of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/options.h"
#include "cli/output/output.h"
#include "probes/rules/rule.h"

namespace galen::cli {

// ---- `galen demo`: real processes on this machine, a fault, and the Pod that shows it. Ends by
// itself in about a minute and removes everything; a demo that failed keeps its directory, for the
// logs. Works without a cluster and without root.

// The command's flags.
struct DemoArguments {
  bool batch = false;         // plain lines; exit code 0 only if every step was seen
  bool keep = false;          // leave it running at the end, until a signal
  bool kernel_log = false;    // write the fault as a real line to /dev/kmsg
  std::string bin_directory;  // where the other programs are
  // The parent of the demo's own directory; a short path, since unix sockets lie below it.
  std::string directory = "/tmp";
};

// Blocks until the demo is over. The exit code: 0 when each step was seen on the Pod through the
// API, 130 when it was interrupted. An error names the step that was not seen and where the logs
// are, or the program that died and its log. It also ends when `output` loses its reader.
StatusOr<int> Demo(const Options& options, const DemoArguments& arguments, Output& output);

// ---- `galen watch [KIND]` and `galen get -w`: the table follows changes. On a terminal it is
// redrawn in place, in a pipe each changed row is a line; with -o json each is an object. Kinds
// that are not live are named: on the terminal below the table, in a pipe on standard error.

// Runs until a signal (130) or until the output fails or loses its reader (kExitReaderGone).
// Arguments that `galen get` would refuse are refused here too. `kind` may be "pod/trainer-0".
StatusOr<int> Watch(const Options& options, std::string kind, std::string name, Output& output);

// ---- `galen explain`: which devices a Pod or a claim can have, and why not.

// The command line's arguments.
struct ExplainArguments {
  std::string kind;  // "pod" or "claim"
  std::string name;  // NAME or NAMESPACE/NAME
  std::string file;  // a manifest that need not be applied; "-": standard input
  // As if these had happened: "drain=node-7". Without a Pod, a claim or a file: what they would
  // cost.
  std::vector<std::string> changes;
};

// How `galen explain` ended: its exit code and what it prints.
struct ExplainEnd {
  int code = 0;  // 0: it fits, or has its node
  std::string text;
  std::string problem = {};  // nothing: what goes wrong is an error
};
inline constexpr int kExitDoesNotFit = 2;
inline constexpr int kExitCannotTell = 3;

// Reads the cluster once and changes nothing. InvalidArgument: wrong arguments, or a manifest
// without a Pod, a workload or a claim; NotFound: the Pod, a claim or a template does not exist.
StatusOr<ExplainEnd> Explain(const Options& options, const ExplainArguments& arguments);

// ---- `galen inject`: makes a simulated device show a sign. Only for the simulator.

// The command line's arguments.
struct InjectArguments {
  std::string device;         // "gpu-3"; "" lists what can be injected
  std::string sign;           // "xid=79", "reset"
  std::string driver;         // "" = the simulated one that has the device, or the only one
  std::string driver_socket;  // uses this socket instead of asking the agent for it
};

// Makes the device show the sign, waits for up to 2 s until its agent has published the change (not
// with `driver_socket`, which may have no agent), and returns the text to print: the time of the
// sign or, without a device, a table of the signs. InvalidArgument: wrong arguments; NotFound:
// agent, driver or device do not exist or are not simulated. Repeating it injects again.
StatusOr<std::string> Inject(const Options& options, const InjectArguments& arguments);

// A sign as people write it.
struct SignArgument {
  std::string name;
  std::string value;
  bool operator==(const SignArgument&) const = default;
};

// "xid=79" → {xid, 79}; "reset" → {reset, ""}. The value may hold further '='. InvalidArgument for
// anything else; the driver decides whether the sign exists.
StatusOr<SignArgument> ParseSign(const std::string& text);

// ---- `galen doctor`: looks at this node (sockets, kubelet, API server, agent, machine) and
// reports what is wrong, what that means and what to do. The checks are in src/doctor.

// The command's flags.
struct DoctorArguments {
  std::string node;          // "" = $NODE_NAME, else the agent's answer, else the host's name
  std::string kubelet_root;  // "" = that of the agent's drivers, else /var/lib/kubelet
  std::string registry;      // "" = below kubelet_root
  std::string state_dir = "/var/lib/galen";
  // Given directories replace the default ones.
  std::vector<std::string> cdi_roots;  // {} = /etc/cdi and /var/run/cdi
  std::string agent_account;           // "NAMESPACE/NAME"; "" = that of the agent's Pod
  std::string compatibility;           // NFD's document of an image; "" = none is asked about
  std::string expect;                  // a file of what the node should have; "" = nothing is said
  std::string output;                  // table, wide, json or junit; "" = what Options says
};

// How `galen doctor` ended: its exit status and what it prints.
struct DoctorResult {
  int code = 0;         // 0 (nothing bad), 1 (something bad), 64, 69 (no node) or 130
  std::string text;     // for standard output
  std::string problem;  // for standard error, when there is no result
};

// Works without root and without a cluster, with what it may read. Changes nothing. Blocks for some
// seconds at most where sockets hang, and half a minute where the API server does.
DoctorResult Doctor(const Options& options, const DoctorArguments& arguments);

// ---- `galen dev-node`: a node on this machine for people who write drivers. An embedded
// Kubernetes API and an agent in a kubelet's place that runs Pods as processes. It prints where a
// driver registers and how to use kubectl, and runs until Ctrl-C, which removes everything.

// The command's flags.
struct DevNodeArguments {
  // The node's directory: missing or empty before, removed afterwards. "": a new one in /tmp.
  std::string directory;
  std::string node = "dev-node";
  std::int64_t simulated_gpus = 0;  // of a driver that is started too; 0: none
  bool as_root = false;             // Pods run as root of this machine
  std::string bin_directory;        // where the other programs are
};

// Blocks until Ctrl-C or SIGTERM (0), or until a program ends by itself (an error with its log; the
// directory stays). InvalidArgument: root without as_root, or a number of GPUs that the driver does
// not take; AlreadyExists: a directory that is not empty. It also ends when `output` loses its
// reader.
StatusOr<int> DevNode(const Options& options, const DevNodeArguments& arguments, Output& output);

// For the text that is printed once it runs: process ids of API and agent.
struct DevNodePids {
  int api = 0, agent = 0;
};
std::string DevNodeText(const std::string& directory, const DevNodeArguments& arguments,
                        DevNodePids pids);

// ---- `galen rules`: checks, shows and tries tables of rules on this machine. Needs no cluster.
// `file` is a path, or the name of a built-in table ("pci") if there is no such file. Each returns
// the text to print. NotFound: no such table; InvalidArgument: every fault of it, one a line.

// The file, or the built-in table of that name where there is no such file.
StatusOr<probes::RuleTable> LoadRulesTable(const std::string& file);
// OK, with a summary, when the table has no faults.
StatusOr<std::string> CheckRules(const std::string& file);
// The same for programs: {"file", "signs", "rules", "faults"}, each fault with "file", "line",
// "column" and "message". Faults are no error here; a table with faults has neither of the counts,
// and a fault of the whole file, such as one that is no YAML, has no place.
StatusOr<Json> CheckRulesAsJson(const std::string& file);
// A line for each rule, including those of a table that it extends.
StatusOr<std::string> ListRules(const Options& options, const std::string& file);
// What each rule reads, when it begins and ends, and its message; only the rule `id`, unless that
// is "".
StatusOr<std::string> ExplainRules(const std::string& file, const std::string& id);
// The rules that begin and end while a recording is played back; see probes::ReplayRules for its
// form.
StatusOr<std::string> TestRules(const std::string& file, const std::string& recording);
// The JSON schema of rules files.
std::string SchemaOfRules();

// ---- `galen rules record`: records the signs of this machine's devices for `galen rules test
// --replay`.

// The command line's arguments.
struct RecordArguments {
  std::string directory;              // for the recording
  std::vector<std::string> patterns;  // which directories below sysfs are devices
  std::string sysfs_root = "/sys";
  std::string kernel_log;  // "/dev/kmsg"; "" = not read
  std::string nvml;        // NVIDIA's library; "" = not asked
  Duration length = std::chrono::minutes(1);
  Duration every = std::chrono::seconds(2);
  bool hash_serials = false;
};

// Records for the given time, or until it is interrupted; the recording is complete up to then.
// Returns the text to print: how many steps there are, and how to play them. InvalidArgument: the
// command line; NotFound: no such table, or no device; else why nothing can be read or written any
// more.
StatusOr<std::string> RecordRules(const std::string& table, const RecordArguments& arguments);

// ---- `galen completion SHELL`: a script that completes commands, their flags and values, and the
// names of Pods, devices, drivers and simulated signs.

// The script for "bash", "zsh" or "fish", to be sourced; InvalidArgument for any other shell. When
// the user presses Tab, names come from the cluster and signs from the simulator; without these
// none are offered.
StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace galen::cli
