// The parts of an examination on the node itself: machine, CDI files, the agent's journal, the
// kubelet, and the sockets of drivers and agent. Each part has a source file and a test of its
// name. Nothing is changed.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_system.h"
#include "base/loop/loop.h"
#include "doctor/observations.h"
#include "history/store/record.h"
#include "net/connection.h"
#include "rpc/channel.h"

namespace galen::doctor {

// ---- The machine itself: control groups, limits of the kernel, clock and disks. Only reads. Calls
// block shortly.

// Where /proc, /sys and the like are mounted.
struct KernelPlaces {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
  std::string sysfs = "/sys";
  // Roots below which NVIDIA's driver may be installed: a driver in a container, as with the GPU
  // operator, is preferred to one of the host.
  std::vector<std::string> nvidia_roots = {"/run/nvidia/driver", "/"};
};

// When a process was started, by proc(5)'s stat.
StatusOr<WallTime> StartedAt(FileSystem& files, const std::string& proc, std::int64_t pid);
// The oldest process of a container runtime that kubelets know: containerd, CRI-O, Docker. NotFound
// when none is visible, as for a program in a Pod.
StatusOr<RuntimeSeen> FindRuntime(FileSystem& files, const std::string& proc);
// NotFound on a kernel without pressure stall information.
StatusOr<PressureSeen> LookAtPressure(FileSystem& files, const KernelPlaces& places);
// The libraries come from the first of `nvidia_roots` that has any.
NvidiaSeen LookAtNvidia(FileSystem& files, const KernelPlaces& places);

// Version 2 has cgroup.controllers at its root; otherwise reads the directories of version 1.
StatusOr<CgroupSeen> LookAtCgroups(FileSystem& files, const KernelPlaces& places);
// Creates an instance with one watch, and closes both again.
StatusOr<InotifySeen> LookAtInotify(FileSystem& files, const KernelPlaces& places);
StatusOr<FileTableSeen> LookAtFileTable(FileSystem& files, const KernelPlaces& places);
// adjtimex(2), which anybody may read.
StatusOr<TimeSyncSeen> LookAtTimeSync();
// The file system of `path`; `of` names its owner. As root it also checks whether files can be made
// there; as another user only whether it is mounted read-only, because the writers are root.
DiskSeen LookAtDisk(const std::string& path, const std::string& of);

// The digits in a file such as a PCI device's vendor: "10de" of "0x10de\n"; "" when it cannot be
// read.
std::string PciNumber(FileSystem& files, const std::string& path);
// What sysfs has of the expected devices and firmware. Keeps `wanted`.
ExpectedSeen LookForExpected(FileSystem& files, const KernelPlaces& places, Expectations wanted);

// Features by NFD's names, as far as /proc and /sys show them: kernel.version, kernel.loadedmodule,
// cpu.model of the makers that NFD has short names for, and pci.device.
NodeFeatures LookAtFeatures(FileSystem& files, const KernelPlaces& places);

inline constexpr std::size_t kFirmwareFilesMax = 1024;  // of one pattern; further ones are left out

// ---- The files of CDI directories, read as a container runtime does (container-device-interface,
// SPEC.md 1.1.0): which devices they define, or why they are invalid.

// Pure.
CdiFile ReadCdiFile(const std::string& path, std::string_view text);

// All .json and .yaml files; a missing directory has none. NotFound when all are missing,
// ResourceExhausted beyond kCdiFilesMax.
StatusOr<std::vector<CdiFile>> ReadCdiFiles(FileSystem& files,
                                            const std::vector<std::string>& directories);

// ---- What the agent's journal shows from outside, while the agent owns it: files that were set
// aside, and times that went back. Only reads; a file that the agent is writing may end in the
// middle.

// `directory` is <stateDir>/journal; `now` this machine's time. NotFound when there is none.
StatusOr<JournalSeen> LookAtJournal(FileSystem& files, const std::string& directory, WallTime now);

// The times at which the agent's clock went back by more than a second, oldest first, a sentence
// each; also when the last record is later than `now`. Only records with the agent's own time
// count: drivers' signs come in any order. Pure.
std::vector<std::string> JumpsOf(const std::vector<history::Record>& records, WallTime now);

// ---- What a kubelet shows on its node without being asked: its process, its configuration and its
// record of prepared claims. Reads files, changes nothing. Calls block.

// The kubelet whose --root-dir is `root` as we see it, among the processes of `proc` ("/proc"): a
// kubelet in a mount namespace of its own may call that directory by another name, and another
// node's may call its own by this name. If its namespace may not be read, the name counts. Of
// several kubelets, the one that was started with `node`'s name, else the one that sees the same
// files as we do. NotFound when there is none, as for a program in a Pod that does not see the
// machine's processes.
StatusOr<KubeletProcess> FindKubelet(FileSystem& files, const std::string& proc,
                                     const std::string& root, const std::string& node);

// RLIMIT_NOFILE of a process, by proc(5)'s limits; nullopt: unlimited.
StatusOr<std::optional<std::int64_t>> OpenFilesOf(FileSystem& files, const std::string& proc,
                                                  std::int64_t pid);

// featureGates of the configuration file that the process was given, or of <root>/config.yaml
// where kubeadm puts it; --feature-gates overrides it. NotFound when neither exists. If the
// process's file may not be read, only the gates of its flags are known; then it is `complete`, so
// that no default is assumed where the file may set a value.
StatusOr<Gates> ReadConfiguredGates(FileSystem& files, const Seen<KubeletProcess>& process,
                                    const std::string& root);

// <root>/dra_manager_state, which a kubelet makes at its start. NotFound when it is not there, as
// for a program in a Pod that is given a part of the root. DataLoss when its checksum is wrong or
// it is not what kubelets from 1.34 on write.
StatusOr<std::vector<CheckpointedClaim>> ReadPreparedClaims(FileSystem& files,
                                                            const std::string& root);

// ---- The sockets of this node: drivers in the kubelet's registry, and the agent. Asks all of them
// at once, and notifies none. Belongs to its loop.

// One call to a gRPC server on a unix socket of this node, on its own connection. Sent when it is
// made; destroying it cancels. Belongs to its loop.
class SocketCall {
 public:
  // The outcome of connecting (NotFound: no socket; Unavailable: no listener; PermissionDenied: no
  // right; DeadlineExceeded: not accepted), and the answer's bytes or its error.
  using Done = std::function<void(const Status& connected, const StatusOr<std::string>& answer)>;

  // `method` is "/package.Service/Method", or "" to only connect. `done` runs once, later; the call
  // must exist until then, and `done` must not destroy it. loop and dialer are borrowed.
  SocketCall(Loop& loop, net::Dialer& dialer, const std::string& path, std::string method,
             std::string request, Done done);

  static constexpr Duration kConnectWithin = std::chrono::seconds(2);
  // The kubelet's own limit for GetInfo (operation_generator.go).
  static constexpr Duration kAnswerWithin = std::chrono::seconds(1);

 private:
  void OnConnected(StatusOr<std::unique_ptr<net::Connection>> connection);

  Loop& loop_;
  const std::string path_, method_, request_;
  const Done done_;
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::optional<rpc::Channel> channel_;
  std::unique_ptr<rpc::Call> call_;
};

// The entries of the registry's directory and those below it, as a kubelet walks them; not asked
// yet. NotFound when it does not exist.
StatusOr<std::vector<RegistryEntry>> ListRegistry(const std::string& directory);

// Asks the sockets that it is given, all at once after Start, until each has answered or its time
// is up. Belongs to its loop.
class NodeProbe {
 public:
  // `done` runs once, on the loop. The arguments outlive the probe.
  NodeProbe(Loop& loop, net::Dialer& dialer, std::function<void()> done);

  // `entries` are filled in as answers come, and must exist until `done`.
  void AskDrivers(std::vector<RegistryEntry>& entries, const std::string& kubelet_root);
  void AskAgent(const std::string& socket, AgentSeen& agent);
  // Sends the calls; `done` comes later, never from inside this.
  void Start();

 private:
  void Ask(const std::string& path, const std::string& method, SocketCall::Done take);
  void AskDriver(RegistryEntry& entry, const std::string& kubelet_root);
  void AskEndpoint(RegistryEntry& entry, const std::string& kubelet_root);
  void Finish();

  Loop& loop_;
  net::Dialer& dialer_;
  const std::function<void()> done_;
  std::size_t open_ = 1;  // unanswered calls, and Start itself
  std::list<std::unique_ptr<SocketCall>> calls_;
  Timer started_;
};

}  // namespace galen::doctor
