// The commands that `galen` runs and nothing else uses; each has a source file of its name. Those
// that share code with others (get, why, post-mortem, conformance) have headers of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "cli/options.h"
#include "cli/output/output.h"
#include "probes/rules/rule.h"

namespace galen::cli {

// ---- `galen demo`: real processes on this machine, a fault, and the Pod that says so. Ends by
// itself in about a minute and leaves nothing behind; a demo that did not succeed leaves its
// directory, for the logs. Works without a cluster and without root.

// What its flags say.
struct DemoArguments {
  bool batch = false;         // plain lines; exit code 0 only if every step was seen
  bool keep = false;          // leave it running at the end, until a signal
  bool kernel_log = false;    // the fault as a real line in /dev/kmsg
  std::string bin_directory;  // where the other programs are
  // Its own directory is made in here; the path must be short, for unix sockets lie below it.
  std::string directory = "/tmp";
};

// Blocks until the demo is over. The exit code: 0 when each step was seen on the Pod through the
// API, 130 when it was interrupted. An error names the step that was not seen and where the logs
// are, or the program that died and its log. `output` that nobody reads any more ends it, too.
StatusOr<int> Demo(const Options& options, const DemoArguments& arguments, Output& output);

// ---- `galen watch [KIND]` and `galen get -w`: the table stays and changes. On a terminal in
// place, in a pipe a line for each row that changed; with -o json an object a line. What is not
// live is said to be so: on the terminal below the table, in a pipe on standard error.

// Runs until a signal (130), until nobody takes the output (kExitReaderGone, or its error), or
// not at all: what `galen get` would refuse is refused here. `kind` may be "pod/trainer-0", too.
StatusOr<int> Watch(const Options& options, std::string kind, std::string name, Output& output);

// ---- `galen inject`: makes a simulated device show a sign. For the simulator only: real hardware
// fails by itself.

// What the command line names.
struct InjectArguments {
  std::string device;         // "gpu-3"; "" lists what can be injected
  std::string sign;           // "xid=79", "reset"
  std::string driver;         // "" = the simulated one that has the device, or the only one
  std::string driver_socket;  // asks this socket instead of the agent for it
};

// Makes the device show the sign, waits for up to 2 s until its agent has published what that
// changed (not with `driver_socket`, which may have no agent), and gives what to print: the moment
// at which it did, or, without a device, a table of what can be injected. InvalidArgument names
// what is wrong with the arguments, NotFound says that agent, driver or device are not there or not
// simulated. Repeating injects once more.
StatusOr<std::string> Inject(const Options& options, const InjectArguments& arguments);

// A sign as people write it.
struct SignArgument {
  std::string name;
  std::string value;
  bool operator==(const SignArgument&) const = default;
};

// "xid=79" → {xid, 79}; "reset" → {reset, ""}. The value may hold further '='. InvalidArgument for
// anything else; whether there is such a sign the driver says.
StatusOr<SignArgument> ParseSign(const std::string& text);

// ---- `galen doctor`: looks at this node (sockets, kubelet, API server, agent, machine) and says
// what is wrong with it, what that means and what to do. The checks are those of room doctor.

// What its flags say.
struct DoctorArguments {
  std::string node;          // "" = $NODE_NAME, else the agent's answer, else the host's name
  std::string kubelet_root;  // "" = that of the agent's drivers, else /var/lib/kubelet
  std::string registry;      // "" = below kubelet_root
  std::string state_dir = "/var/lib/galen";
  // A directory that is given replaces these.
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

// Works with what it may look at: without root, without a cluster. Changes nothing. Blocks, for
// some seconds at most where sockets hang, and half a minute where the API server does.
DoctorResult Doctor(const Options& options, const DoctorArguments& arguments);

// ---- `galen dev-node`: a node on this machine for people who write drivers. An embedded
// Kubernetes API and an agent that stands in a kubelet's place and runs Pods as processes; it
// prints where a driver registers and how kubectl reaches it, and stays until Ctrl-C, which leaves
// nothing.

// What its flags say.
struct DevNodeArguments {
  // Where everything lies: absent or empty before, gone afterwards. "": one of its own in /tmp.
  std::string directory;
  std::string node = "dev-node";
  std::int64_t simulated_gpus = 0;  // of a driver that is started with it; 0: none
  bool as_root = false;             // Pods run as root of this machine
  std::string bin_directory;        // where the other programs are
};

// Blocks until Ctrl-C or SIGTERM (0), or until a program ends by itself (an error with its log; the
// directory stays). InvalidArgument: root without as_root, or a number of GPUs that the driver does
// not take; AlreadyExists: a directory that is not empty. `output` that nobody reads any more ends
// it, too.
StatusOr<int> DevNode(const Options& options, const DevNodeArguments& arguments, Output& output);

// What is printed when it stands. Pure; `pids` of API and agent.
struct DevNodePids {
  int api = 0, agent = 0;
};
std::string DevNodeText(const std::string& directory, const DevNodeArguments& arguments,
                        DevNodePids pids);

// ---- `galen rules`: tables of rules of a driver's devices, checked, shown and tried on this
// machine. Needs no cluster. `file` is a path, or the name of a built-in table ("pci") where there
// is no such file. Each gives what to print. NotFound: no such table; InvalidArgument: every fault
// of it, one a line.

// The file, or the built-in table of that name where there is no such file.
StatusOr<probes::RuleTable> LoadRulesTable(const std::string& file);
// That there is nothing wrong with it.
StatusOr<std::string> CheckRules(const std::string& file);
// A line for each rule, those of a table that it extends too.
StatusOr<std::string> ListRules(const Options& options, const std::string& file);
// What each rule reads, when it begins and ends and what it says; of the rule `id` alone unless
// that is "".
StatusOr<std::string> ExplainRules(const std::string& file, const std::string& id);
// Which rules begin and end when the devices show what is recorded: probes::ReplayRules says what a
// recording is.
StatusOr<std::string> TestRules(const std::string& file, const std::string& recording);
// The JSON schema of rules files.
std::string SchemaOfRules();

// ---- `galen rules record`: what devices of this machine show, kept for `galen rules test
// --replay`.

// What the command line says.
struct RecordArguments {
  std::string directory;              // where the recording is made
  std::vector<std::string> patterns;  // which directories below sysfs are devices
  std::string sysfs_root = "/sys";
  std::string kernel_log;  // "/dev/kmsg"; "" = not read
  std::string nvml;        // NVIDIA's library; "" = not asked
  Duration length = std::chrono::minutes(1);
  Duration every = std::chrono::seconds(2);
  bool hash_serials = false;
};

// Records for as long as it says, or until it is interrupted; what was recorded until then is
// whole. Gives what to print: how many steps there are, and how to play them. InvalidArgument: the
// command line; NotFound: no such table, or no device; else why nothing can be read or written any
// more.
StatusOr<std::string> RecordRules(const std::string& table, const RecordArguments& arguments);

// ---- `galen completion SHELL`: a script that completes commands, their flags and values, and the
// names of Pods, devices, drivers and simulated signs.

// The script for "bash", "zsh" or "fish", to be sourced; InvalidArgument for any other shell. Names
// are asked of the cluster, and signs of the simulator, when the user presses Tab; without one
// nothing is offered.
StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace galen::cli
