// A Kubernetes DRA driver with device health, as its author writes it: what devices there are, how
// a claim is made ready, and how the devices are. Sockets, registration, ResourceSlices, CDI files,
// restarts, rolling updates, signals and draining are the driver's own business.
//
// Everything the author gives is called on the thread that called Run(), one at a time; it must
// return within seconds, because prepares and health wait for it meanwhile.
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

// The node's name from $NODE_NAME, where a DaemonSet puts it (fieldRef spec.nodeName); "" if unset.
std::string NodeNameFromEnv();

// A version as semver 2.0, kept apart from a string.
struct VersionAttribute {
  std::string text;
  bool operator==(const VersionAttribute&) const = default;
};
using Attribute = std::variant<bool, std::int64_t, std::string, VersionAttribute>;

// What keeps new claims away from a device (kNoSchedule) or evicts its holders (kNoExecute).
struct Taint {
  enum class Effect { kNoSchedule, kNoExecute };
  std::string key = {};  // "fpga.example.com/flashing"
  std::string value = {};
  Effect effect = Effect::kNoSchedule;
  bool operator==(const Taint&) const = default;
};

// One device as the scheduler sees it. Attributes "serial" and "model" travel with its health too.
struct Device {
  std::string name = {};                             // DNS label, unique here: "fpga-0"
  std::map<std::string, Attribute> attributes = {};  // {"model", "U250"}; at most 32 with capacity
  std::map<std::string, std::string> capacity = {};  // {"memory", "16Gi"}
  std::vector<Taint> taints = {};                    // at most 16
  bool operator==(const Device&) const = default;
};
// All devices of this driver on this node; at most 4096.
using Inventory = std::vector<Device>;

// A ResourceClaim that holds devices of this driver.
struct DeviceClaim {
  struct Held {
    std::string device;
    std::string request;   // what containers name it by, e.g. "fpga"
    std::string share_id;  // "" unless the device's capacity is shared out
    bool admin_access = false;
    bool operator==(const Held&) const = default;
  };
  struct Config {
    std::string parameters;             // the opaque parameters for this driver, as JSON
    std::vector<std::string> requests;  // empty: for all
    bool from_class = false;            // from the DeviceClass rather than the claim
    bool operator==(const Config&) const = default;
  };
  std::string ns;
  std::string name;
  std::string uid;
  std::vector<Held> devices;
  std::vector<Config> configs;  // weakest first
  bool operator==(const DeviceClaim&) const = default;
};

// What a container gets with a device: the container edits of the Container Device Interface (CDI).
struct CdiEdits {
  struct DeviceNode {
    std::string path = {};         // in the container: "/dev/fpga0"
    std::string host_path = {};    // "" = the same
    std::string permissions = {};  // "rwm"; "" = the runtime's default
    bool operator==(const DeviceNode&) const = default;
  };
  struct Mount {
    std::string host_path = {};
    std::string container_path = {};
    std::vector<std::string> options = {"ro", "nosuid", "nodev", "bind"};
    bool operator==(const Mount&) const = default;
  };
  struct Hook {
    std::string name = {};  // "createContainer", …
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

// Why something could not be done; the kubelet shows it on the Pod and asks again.
struct Failure {
  std::string message;
};

// How a claim was made ready: the same edits for every device of it, edits for each device by its
// name, or why it could not be.
using Prepared = std::variant<CdiEdits, std::map<std::string, CdiEdits>, Failure>;

// Why a device is as it is.
struct HealthCause {
  enum class Owner { kUnsaid, kHardware, kDriver, kApplication, kPlatform };
  std::string code = {};     // CamelCase noun: "LinkDown"
  std::string message = {};  // one sentence; keep it stable while nothing changes: "QSFP link down"
  std::string value = {};    // "91"
  std::string threshold = {};  // "85"
  std::string unit = {};       // "°C"
  Owner owner = Owner::kUnsaid;
  std::string sign = {};  // what the probe read, raw: "kernel log: Xid 79 on 0000:4b:00.0"
  // When the hardware showed it; nullopt: when the driver first heard of it.
  std::optional<std::chrono::system_clock::time_point> seen = {};
};

// Takes down how each device is. A device that is not named in one round is Unknown (NotReported):
// silence never means health. Named twice, the last word counts.
class HealthWriter {
 public:
  virtual ~HealthWriter() = default;
  virtual void Healthy(std::string_view device) = 0;
  virtual void Unhealthy(std::string_view device, HealthCause cause) = 0;
  // `share` is what is left of the device's capability, above 0 and below 1.
  virtual void Degraded(std::string_view device, double share, HealthCause cause) = 0;
  virtual void Unknown(std::string_view device, HealthCause cause) = 0;
  // How long this round's word on the device holds; Options::health_timeout unless said.
  virtual void Timeout(std::string_view device, std::chrono::seconds timeout) = 0;
};

// The whole driver. Make one, give it its parts, Run() it.
// Publish, HealthChanged and Stop may be called from any thread; the rest before Run, from its
// thread.
class Driver {
 public:
  struct Options {
    std::string name = {};  // a DNS subdomain that is yours: "fpga.example.com"
    std::string node = {};
    std::string pool = {};  // "" = the node's name
    std::string kubelet_root = "/var/lib/kubelet";
    std::string cdi_root = "/var/run/cdi";
    // "" = $KUBECONFIG or ~/.kube/config where there is one, else the Pod's own service account.
    std::string kubeconfig = {};
    // Something unique to this instance, such as the Pod's UID, when two may run at once during a
    // rolling update; "" = only one runs at a time.
    std::string instance = {};
    std::string metrics_address =
        {};  // "tcp:127.0.0.1:9464" for /metrics, /healthz, /readyz; "" = none
    std::string log_level = "info";           // debug, info, warning or error
    std::chrono::seconds health_timeout{30};  // whole seconds; kubelets before 1.35 always take 30
    bool degraded_as_unhealthy = false;     // to Kubernetes, which has no Degraded; else as Healthy
    std::chrono::milliseconds drain{5000};  // how long prepares under way may take after Stop
    bool handle_signals = true;             // SIGTERM and SIGINT stop it, a second one ends it
  };

  explicit Driver(Options options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Replaces the inventory. A faulty one changes nothing; before Run it makes Run return 64.
  std::optional<Failure> Publish(Inventory inventory);
  // Makes a claim ready. May be called again for the same claim after a crash. Without it, claims
  // get their devices and containers get nothing.
  void OnPrepare(std::function<Prepared(const DeviceClaim&)> prepare);
  // Undoes OnPrepare; nullopt: done. Called at least once for every claim OnPrepare was called
  // with.
  void OnUnprepare(std::function<std::optional<Failure>(const DeviceClaim&)> unprepare);
  // `report` is called every `period` and soon after HealthChanged(). Without it, the driver tells
  // Kubernetes that it has no health.
  void OnHealth(std::chrono::nanoseconds period, std::function<void(HealthWriter&)> report);

  // Many calls before the next report make one.
  void HealthChanged();

  // Blocks until Stop or a signal and a clean end, which is 0. 64: options or inventory are wrong,
  // nothing was started; 1: could not start. The reason is on standard error.
  int Run();
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The command line all drivers share (--node, --kubeconfig, --instance, …; --help lists it). What
// `options` holds is the default. nullopt: go on; otherwise leave main with this code.
std::optional<int> ParseCommandLine(int argc, char** argv, Driver::Options& options);

}  // namespace galen
