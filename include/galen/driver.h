// A Kubernetes DRA driver with device health, as its author writes it: what devices there are, how
// a claim is made ready, and how the devices are. Sockets, registration, ResourceSlices, CDI files,
// restarts, rolling updates, signals and draining are the driver's own business. This header is the
// whole promise; it needs nothing but the standard library.
//
// Everything the author gives is called on the thread that called Run(), one at a time; it must
// return within seconds, because prepares and health wait for it meanwhile: the kubelet gives a
// prepare 45 s, and a device whose driver falls silent becomes Unknown after
// Options::health_timeout. An exception that a handler lets out is that claim's failure, or ends
// that round of health.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace galen {

namespace sdk {
struct DriverInside;
}

// The node's name from $NODE_NAME, where a DaemonSet puts it (fieldRef spec.nodeName); "" if unset.
std::string NodeNameFromEnv();

// A version as semver 2.0, kept apart from a string.
struct VersionAttribute {
  std::string text;
  bool operator==(const VersionAttribute&) const = default;
};
// By Kubernetes' limits a text or a version has at most 64 bytes.
using Attribute = std::variant<bool, std::int64_t, std::string, VersionAttribute>;

// What keeps new claims away from a device (kNoSchedule) or evicts its holders (kNoExecute), as a
// DRA device taint (KEP-5055). Kubernetes acts on it by default since 1.36. Health alone evicts
// nobody.
struct Taint {
  enum class Effect { kNoSchedule, kNoExecute };
  std::string key = {};    // a label's name: "fpga.example.com/flashing"
  std::string value = {};  // a label's value; "" for none
  Effect effect = Effect::kNoSchedule;
  bool operator==(const Taint&) const = default;
};

// One device as the scheduler sees it. Attributes "serial" and "model" travel with its health too.
// Attributes and capacities are named by a C identifier of at most 32 characters, below a DNS
// subdomain and "/" if it is not the driver's own name.
struct Device {
  // Whether ResourceSlices have it, so that new claims can get it. Its health is reported, and the
  // claims that hold it keep it, either way.
  enum class Offered {
    kAlways,
    // Only while the API server keeps `taints`; one whose feature gate DRADeviceTaints is off drops
    // them, and is asked again when the driver starts anew. Needs a taint.
    kWhereTaintsCount,
    kNever,
  };
  std::string name = {};                             // DNS label, unique here: "fpga-0"
  std::map<std::string, Attribute> attributes = {};  // {"model", "U250"}; at most 32 with capacity
  // Quantities as Kubernetes writes them: {"memory", "16Gi"}.
  std::map<std::string, std::string> capacity = {};
  std::vector<Taint> taints = {};  // at most 16
  // Whether several claims may hold it at once, each with the part of `capacity` that it asked for
  // and a share id of its own (consumable capacity, KEP-5075: by default since Kubernetes 1.36). A
  // claim that asks for none gets all that there is.
  bool allow_multiple_allocations = false;
  Offered offered = Offered::kAlways;
  bool operator==(const Device&) const = default;
};
// All devices of this driver on this node; at most 4096.
using Inventory = std::vector<Device>;

// A ResourceClaim that holds devices of this driver. Devices that it holds of other drivers are not
// in it.
struct DeviceClaim {
  // A device that the claim holds.
  struct Held {
    // Device::name, as in the inventory when the claim was allocated.
    std::string device;
    std::string request;  // what containers name it by, e.g. "fpga"
    // "" unless the device's capacity is shared out (KEP-5075): then several claims hold the same
    // device, each with its own.
    std::string share_id;
    bool admin_access = false;  // for looking at the device, beside its ordinary holder
    bool operator==(const Held&) const = default;
  };
  // Parameters for this driver, from the claim or from its DeviceClass.
  struct Config {
    // The opaque parameters for this driver, as JSON; nobody has checked them.
    std::string parameters;
    std::vector<std::string> requests;  // empty: for all
    bool from_class = false;            // from the DeviceClass rather than the claim
    bool operator==(const Config&) const = default;
  };
  std::string ns;
  std::string name;
  std::string uid;
  std::vector<Held> devices;
  // Weakest first: a later one overrules an earlier one.
  std::vector<Config> configs;
  bool operator==(const DeviceClaim&) const = default;
};

// What a container gets with a device: the container edits of the Container Device Interface (CDI).
// Paths are absolute. What a container runtime would refuse makes the prepare fail with a sentence
// that says what.
struct CdiEdits {
  // A device file that the container gets.
  struct DeviceNode {
    std::string path = {};         // in the container: "/dev/fpga0"
    std::string host_path = {};    // "" = the same
    std::string permissions = {};  // "rwm"; "" = the runtime's default
    bool operator==(const DeviceNode&) const = default;
  };
  // A file or directory of the host that the container sees.
  struct Mount {
    std::string host_path = {};
    std::string container_path = {};
    std::vector<std::string> options = {"ro", "nosuid", "nodev", "bind"};
    bool operator==(const Mount&) const = default;
  };
  // A program that the container runtime runs at a stage of the container.
  struct Hook {
    // An OCI hook: prestart, createRuntime, createContainer, startContainer, poststart or poststop.
    std::string name = {};
    std::string path = {};
    std::vector<std::string> args = {};
    std::vector<std::string> env = {};
    bool operator==(const Hook&) const = default;
  };
  std::vector<std::string> env = {};  // "NAME=value"
  std::vector<DeviceNode> device_nodes = {};
  std::vector<Mount> mounts = {};
  std::vector<Hook> hooks = {};
  bool operator==(const CdiEdits&) const = default;
};

// Why something could not be done; the kubelet shows it on the Pod and asks again. An empty message
// is shown as "the driver gave no reason".
struct Failure {
  std::string message;
};

// How a claim was made ready: the same edits for every device of it, edits for each device by its
// name (a device that is left out gets none; one that the claim does not hold is an error), or why
// it could not be.
using Prepared = std::variant<CdiEdits, std::map<std::string, CdiEdits>, Failure>;

// What a container gets with one device, or why it cannot have it now.
using DeviceEdits = std::variant<CdiEdits, Failure>;

// Why a device is as it is. Every member may be empty. Texts are made valid UTF-8 and printable,
// and cut: the message at 1024 bytes (Kubernetes' limit; 200 are easily read), the sign at 256, the
// rest at 64.
struct HealthCause {
  // Who has to act on the fault.
  enum class Owner { kUnsaid, kHardware, kDriver, kApplication, kPlatform };
  std::string code = {};     // CamelCase noun: "LinkDown"
  std::string message = {};  // one sentence; keep it stable while nothing changes: "QSFP link down"
  // What was measured, and the threshold it crossed, both without their unit.
  std::string value = {};      // "91"
  std::string threshold = {};  // "85"
  std::string unit = {};       // "°C"
  Owner owner = Owner::kUnsaid;
  // What the probe read, raw, for whoever looks into it: "kernel log: Xid 79 on 0000:4b:00.0".
  std::string sign = {};
  // When the hardware showed it; nullopt: when the driver first reported it. A time to come counts
  // as now. It is the beginning of the finding: while state, share and cause stay the same, the
  // first one stays.
  std::optional<std::chrono::system_clock::time_point> seen = {};
};

// Records how each device is; borrowed for one call of the author's `report`, on the same thread. A
// device that is not named in one round is Unknown (NotReported): silence never means health. Named
// twice, the last report counts. A name that is not in the inventory is left out and logged once.
class HealthWriter {
 public:
  virtual ~HealthWriter() = default;
  void Healthy(std::string_view device) { Healthy(device, {}); }
  // `note` is what is worth knowing of a device that is well: the fault of a program that used it
  // (owner kApplication), or only the sign that showed that it is well again.
  virtual void Healthy(std::string_view device, HealthCause note) = 0;
  virtual void Unhealthy(std::string_view device, HealthCause cause) = 0;
  // `share` is what is left of the device's capability, above 0 and below 1 (half the links: 0.5);
  // it is clamped to 0 to 1. Kubernetes has no such state: Options::degraded_as_unhealthy says what
  // it gets instead; Galen's own agent gets the real state.
  virtual void Degraded(std::string_view device, double share, HealthCause cause) = 0;
  // The probe could not find out: never taken for bad.
  virtual void Unknown(std::string_view device, HealthCause cause) = 0;
  // How long this round's report on the device holds without a new one
  virtual void Timeout(std::string_view device, std::chrono::seconds timeout) = 0;
};

// The whole driver. Make one, give it its parts, Run() it. Publish, HealthChanged and Stop may be
// called from any thread; the rest before Run, from its thread. One Driver runs once; destroy it
// after Run has returned, on no thread that still calls it.
class Driver {
 public:
  // How the driver runs; ParseCommandLine sets it from flags.
  struct Options {
    // A DNS subdomain that is yours, at most 63 characters, beginning with a letter (it is the
    // vendor in CDI names too): "fpga.example.com".
    std::string name = {};
    std::string node = {};  // the Node object's name: spec.nodeName, not the host name
    std::string pool = {};  // "" = the node's name
    // Absolute paths. The sockets are in plugins_registry and plugins/<name> below the first, the
    // kubelet's conventions; CDI files in the second, where container runtimes look by default.
    std::string kubelet_root = "/var/lib/kubelet";
    std::string cdi_root = "/var/run/cdi";
    // "" = $KUBECONFIG or ~/.kube/config where there is one, else the Pod's own service account.
    std::string kubeconfig = {};
    // Something unique to this instance, such as the Pod's UID, when two may run at once during a
    // rolling update; "" = only one runs at a time.
    std::string instance = {};
    // "127.0.0.1:9464" or "unix:/path" for /metrics, /healthz and /readyz; "" = none.
    std::string metrics_address = {};
    std::string log_level = "info";  // debug, info, warning or error
    // How long a report on a device holds
    std::chrono::seconds health_timeout{30};
    // What is reported of such a device to Kubernetes, which has no Degraded: Unhealthy, or else
    // Healthy.
    bool degraded_as_unhealthy = false;
    std::chrono::milliseconds drain{5000};  // how long prepares under way may take after Stop
    // Devices that Pods ask for as an extended resource (resources.limits) instead of by claims:
    // the driver serves them as a device plugin (v1beta1) and leaves them out of its
    // ResourceSlices, so that a device is never given out both ways. Drain the node before
    // you move a device from one way to the other: the kubelet does not report to a device plugin
    // that a device is free again.
    struct DevicePlugin {
      std::string resource = {};  // "vendor.com/gpu"; "" = no device plugin
      // Names, "*" for any characters: {"gpu-0", "gpu-1*"}; empty = all devices.
      std::vector<std::string> devices = {};
    };
    DevicePlugin device_plugin = {};
    bool handle_signals = true;  // SIGTERM and SIGINT stop it, a second one ends it
  };

  explicit Driver(Options options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Replaces the inventory; ResourceSlices follow. A faulty one changes nothing and is reported
  // with all its faults; if none was right before Run, that makes Run return 64. Publishing the
  // same again writes nothing to the API server. A device that is left out is gone for the
  // scheduler at once, but claims that hold it keep it. From `report` it counts at once: the same
  // round may name devices that are new.
  std::optional<Failure> Publish(Inventory inventory);
  // Makes a claim ready. Called again for the same claim after a Failure, a crash or a reboot, so
  // it must be repeatable; a claim that is ready in this boot is answered from the driver's record
  // without a call. Without it, claims get their devices and containers get nothing.
  void OnPrepare(std::function<Prepared(const DeviceClaim&)> prepare);
  // Undoes OnPrepare; nullopt: done. Called at least once for every claim OnPrepare was called
  // with, also when that failed or the driver crashed in it. The claim is as it was then; its
  // object may be long gone.
  void OnUnprepare(std::function<std::optional<Failure>(const DeviceClaim&)> unprepare);
  // What a container gets with a device of Options::device_plugin: asked for when the inventory
  // changes and again when the kubelet gives the device to a container, so it must be repeatable
  // and quick; nothing follows when the container ends. Without it, containers get nothing.
  void OnDeviceEdits(std::function<DeviceEdits(const std::string& device)> edits);
  // `report` is called every `period` (above zero) and soon after HealthChanged(). Without it, the
  // driver registers without a health service. While it does not return nothing is reported, and
  // devices become Unknown after their timeout.
  void OnHealth(std::chrono::nanoseconds period, std::function<void(HealthWriter&)> report);

  // Asks for a report soon, as from a thread that waits for an interrupt. Many calls before the
  // next report make one.
  void HealthChanged();

  // Blocks until Stop or a signal and a clean end, which is 0. 64: options, inventory or kubeconfig
  // are wrong, nothing was started; 1: could not start, as when this driver runs here already, or
  // /proc hides the boot id, without which nobody knows which prepared claims a reboot undid. The
  // reason is on standard error. An API server or a kubelet that is away is no reason to end: it is
  // tried again for as long as the driver runs.
  int Run();
  // Begins a clean end and returns at once; more calls change nothing. Before Run, it makes Run end
  // as soon as it begins. Published slices and prepared claims stay.
  void Stop();

 private:
  friend struct sdk::DriverInside;  // not part of the API
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The command line all drivers share (--node, --kubeconfig, --instance, …; --help lists it). What
// `options` holds is the default. nullopt: go on; otherwise leave main with this code: 0 after
// --help or --version, 64 after a fault, which was said on standard error.
std::optional<int> ParseCommandLine(int argc, char** argv, Driver::Options& options);

}  // namespace galen
