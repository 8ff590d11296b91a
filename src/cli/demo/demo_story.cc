// Tested by tests/e2e/demo_test.cc, which plays the demo in batch.
#include "cli/demo/demo_story.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/fd.h"
#include "cli/demo/embedded.h"
#include "cli/inspect/agent_link.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

const ObjectKey kTrainer{"train", "trainer-0"};
const ObjectKey kLlm{"serve", "llm-0"};
const ObjectKey kIngest{"train", "ingest-0"};

// Long enough for a loaded machine of two cores; a step that was not seen by then has failed.
constexpr Duration kSeenWithin = 20s;
constexpr int kSteps = 5;
constexpr std::size_t kDrivers = 2;  // the drivers of the GPUs and of the link
constexpr Duration kLookForReportEvery = 20ms;
// The agent writes its records to disk within a second, many in one write.
constexpr Duration kNotesOnDiskWithin = 1200ms;

double Milliseconds(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace

std::string DemoStory::Manifest() {
  return std::string(kDeviceHealthCrd) + "\n---\n" + std::string(kDemoManifest);
}

bool DemoStory::WaitForDrivers(DemoStage& stage) {
  return stage.WaitUntil(
      [&] {
        const std::optional<Fleet> fleet = stage.fleet();
        if (!fleet) return false;
        std::set<std::string> drivers;
        for (const DeviceView& device : fleet->devices) {
          // The agent has a report of the device: a slice appears before the driver can prepare.
          if (device.health.state == HealthState::kHealthy) {
            drivers.insert(device.identity.id.driver);
          }
        }
        return drivers.size() == kDrivers;
      },
      kSeenWithin);
}

bool DemoStory::WaitForPods(DemoStage& stage) {
  // The Pods have to be scheduled and prepared first.
  return stage.WaitUntil(
      [&] {
        for (const ObjectKey& pod : {kTrainer, kLlm, kIngest}) {
          const kube::ResourceHealth* health = stage.HealthOf(pod);
          if (health == nullptr || health->health != "Healthy") return false;
        }
        return true;
      },
      3 * kSeenWithin);
}

Status DemoStory::Play() {
  RETURN_IF_ERROR(GpuFallsOffTheBus());
  RETURN_IF_ERROR(TemperatureClimbsAndFalls());
  RETURN_IF_ERROR(LinkGoesDownAndUp());
  RETURN_IF_ERROR(DriverDies());
  return AgentDies();
}

Status DemoStory::GpuFallsOffTheBus() {
  const std::string name = stage_.DeviceOf(kTrainer).value_or(DeviceId{}).device;
  screen_.Story(fmt::format("1/{} XID 79 on {} …", kSteps, name));
  StatusOr<WallTime> start =
      settings_.kernel_log ? WriteXidToKernelLog(kTrainer) : InjectOn(kTrainer, "xid=79");
  if (!start.ok()) return start.status();
  ASSIGN_OR_RETURN(const Duration took,
                   Seen(kTrainer, {"Unhealthy", "XID 79"}, *start, kSeenWithin));
  Measure("GPU fault → Pod status at a watcher", took);
  Finish(1, fmt::format("XID 79 on {}: the Pod says \"{}\" after {:.1f} ms", name,
                        stage_.HealthOf(kTrainer)->message, Milliseconds(took)));
  return OkStatus();
}

Status DemoStory::TemperatureClimbsAndFalls() {
  const std::string name = stage_.DeviceOf(kLlm).value_or(DeviceId{}).device;
  screen_.Story(fmt::format("2/{} {} climbs to 91 °C; one reading is no verdict …", kSteps, name));
  ASSIGN_OR_RETURN(const WallTime hot, InjectOn(kLlm, "temperature=91"));
  ASSIGN_OR_RETURN(const Duration climbed,
                   Seen(kLlm, {"Unhealthy", "temperature"}, hot, kSeenWithin));
  const std::string said = stage_.HealthOf(kLlm)->message;
  Measure("temperature above its limit → Pod, debounce included", climbed);
  screen_.Story(fmt::format("2/{} {} cools down; it must stay cool for a while …", kSteps, name));
  ASSIGN_OR_RETURN(const WallTime cool, InjectOn(kLlm, "temperature=60"));
  ASSIGN_OR_RETURN(const Duration fell, Seen(kLlm, {"Healthy", ""}, cool, kSeenWithin));
  Measure("temperature back to normal → Pod, hysteresis included", fell);
  Finish(2, fmt::format("\"{}\" after {:.1f} s of heat, Healthy again after {:.1f} s of calm", said,
                        Milliseconds(climbed) / 1000, Milliseconds(fell) / 1000));
  return OkStatus();
}

Status DemoStory::LinkGoesDownAndUp() {
  screen_.Story(fmt::format("3/{} a real link goes down: ip link set rail0 down …", kSteps));
  const WallTime down = stage_.session().loop().WallNow();
  RETURN_IF_ERROR(programs_.SetLink("down"));
  ASSIGN_OR_RETURN(const Duration lost, Seen(kIngest, {"Unhealthy", ""}, down, kSeenWithin));
  const std::string said = stage_.HealthOf(kIngest)->message;
  Measure("link down → Pod, starting ip(8) included", lost);
  const WallTime up = stage_.session().loop().WallNow();
  RETURN_IF_ERROR(programs_.SetLink("up"));
  ASSIGN_OR_RETURN(const Duration back, Seen(kIngest, {"Healthy", ""}, up, kSeenWithin));
  Finish(3, fmt::format("\"{}\" after {:.0f} ms, Healthy {:.0f} ms after it came up", said,
                        Milliseconds(lost), Milliseconds(back)));
  return OkStatus();
}

Status DemoStory::DriverDies() {
  screen_.Story(fmt::format("4/{} the GPU driver is killed with -9 …", kSteps));
  const WallTime killed = stage_.session().loop().WallNow();
  RETURN_IF_ERROR(programs_.Kill("gpu-driver"));
  ASSIGN_OR_RETURN(const Duration gone, Seen(kLlm, {"Unknown", ""}, killed, kSeenWithin));
  const std::string said = stage_.HealthOf(kLlm)->message;
  Measure("driver killed → Unknown on the Pod", gone);
  const WallTime started = stage_.session().loop().WallNow();
  RETURN_IF_ERROR(programs_.StartGpuDriver());
  ASSIGN_OR_RETURN(const Duration back, Seen(kLlm, {"Healthy", ""}, started, kSeenWithin));
  Measure("driver started again → Pod right", back);
  Finish(4, fmt::format(
                "Unknown after {:.0f} ms (\"{}\"), right again {:.0f} ms after the driver's start",
                Milliseconds(gone), said, Milliseconds(back)));
  return OkStatus();
}

// The temperature rises before the agent is killed, so that a state from this run must survive it.
// While the agent is away a link goes down, which only the new agent can publish: this shows that
// the Pod's text comes from the new agent, and how long that took.
Status DemoStory::AgentDies() {
  screen_.Story(fmt::format("5/{} the agent is killed with -9 while a GPU is hot …", kSteps));
  ASSIGN_OR_RETURN(const WallTime hot, InjectOn(kLlm, "temperature=93"));
  RETURN_IF_ERROR(Seen(kLlm, {"Unhealthy", "temperature"}, hot, kSeenWithin).status());
  const std::string before = stage_.Find(kLlm)->devices_annotation;
  // The change was on disk before it was published; this wait is for the further record that `galen
  // why` shows.
  stage_.WaitUntil([] { return false; }, kNotesOnDiskWithin);
  RETURN_IF_ERROR(stage_.interrupted());
  RETURN_IF_ERROR(programs_.Kill("galen-agent"));
  stage_.KeepSaying(kLlm);
  RETURN_IF_ERROR(programs_.SetLink("down"));
  screen_.Story(fmt::format(
      "5/{} no agent is there, and a link goes down; now the agent starts again …", kSteps));
  const WallTime started = stage_.session().loop().WallNow();
  RETURN_IF_ERROR(programs_.StartAgent());
  ASSIGN_OR_RETURN(const Duration shown, Seen(kIngest, {"Unhealthy", ""}, started, kSeenWithin));
  Measure("agent killed and started → first right Pod status", shown);
  RETURN_IF_ERROR(WaitForReportOf(kLlm));
  if (!stage_.Said().empty()) return Changed(before);
  return AgentShowsTheRecovery(before, shown);
}

Status DemoStory::AgentShowsTheRecovery(const std::string& before, Duration shown) {
  ASSIGN_OR_RETURN(const WallTime cool, InjectOn(kLlm, "temperature=60"));
  const WallTime up = stage_.session().loop().WallNow();
  RETURN_IF_ERROR(programs_.SetLink("up"));
  RETURN_IF_ERROR(Seen(kIngest, {"Healthy", ""}, up, kSeenWithin).status());
  ASSIGN_OR_RETURN(const Duration back, Seen(kLlm, {"Healthy", ""}, cool, kSeenWithin));
  // No text in between, least of all Unknown.
  if (stage_.Said().size() != 1) return Changed(before);
  Finish(5, fmt::format("the Pod's line stayed unchanged; the new agent shows after {:.0f} ms what "
                        "had happened meanwhile, and the recovery after {:.1f} s of calm",
                        Milliseconds(shown), Milliseconds(back) / 1000));
  return OkStatus();
}

Status DemoStory::Changed(const std::string& before) const {
  std::string said;
  for (const std::string& text : stage_.Said()) said += " → '" + text + "'";
  return Internal("the Pod's line changed over the agent's restart: '{}'{}; logs are in {}", before,
                  said, place_.directory);
}

// Waits until the agent has a report of the Pod's device from its driver, and no longer only its
// stored state.
Status DemoStory::WaitForReportOf(const ObjectKey& pod) {
  const std::optional<DeviceId> device = stage_.DeviceOf(pod);
  const Time end = stage_.session().loop().Now() + kSeenWithin;
  while (device && stage_.session().loop().Now() < end) {
    RETURN_IF_ERROR(stage_.interrupted());
    if (AgentGotReportOf(*device)) return OkStatus();
    stage_.WaitUntil([] { return false; }, kLookForReportEvery);
  }
  return DeadlineExceeded(
      "the new agent has no report of Pod {}'s device after {} s; logs are in {}", ToString(pod),
      kSeenWithin / 1s, place_.directory);
}

bool DemoStory::AgentGotReportOf(const DeviceId& id) {
  namespace wire = galen::inspect::v1;
  Session& session = stage_.session();
  auto agent =
      AgentLink::Open(session.loop(), session.dialer(), place_.agent_socket(), session.interrupt());
  if (!agent.ok()) return false;
  const auto answer = (*agent)->Ask<wire::ListDevicesResponse>(
      "/galen.inspect.v1.Inspect/ListDevices", wire::ListDevicesRequest());
  if (!answer.ok()) return false;
  return std::any_of(answer->devices().begin(), answer->devices().end(),
                     [&](const wire::Device& device) {
                       return DeviceId{device.driver(), device.pool(), device.device()} == id &&
                              device.report_age_millis() >= 0;
                     });
}

StatusOr<WallTime> DemoStory::InjectOn(const ObjectKey& pod, const std::string& sign) {
  namespace simulator = galen::simulator::v1;
  const std::optional<DeviceId> device = stage_.DeviceOf(pod);
  if (!device) return NotFound("Pod {} holds no device", ToString(pod));
  const std::string socket = place_.kubelet_root() + "/plugins/" + device->driver + "/dra.sock";
  ASSIGN_OR_RETURN(auto driver, AgentLink::Open(stage_.session().loop(), stage_.session().dialer(),
                                                socket, stage_.session().interrupt()));
  simulator::InjectRequest request;
  request.set_device(device->device);
  // "NAME=VALUE": every sign of the story has a value.
  request.set_sign(sign.substr(0, sign.find('=')));
  request.set_value(sign.substr(sign.find('=') + 1));
  ASSIGN_OR_RETURN(const auto answer, driver->Ask<simulator::InjectResponse>(
                                          "/galen.simulator.v1.Simulator/Inject", request));
  return WallTime(std::chrono::nanoseconds(answer.injected_unix_nanos()));
}

// Writes the line of NVIDIA's kernel driver, with the bus address of the Pod's GPU.
StatusOr<WallTime> DemoStory::WriteXidToKernelLog(const ObjectKey& pod) {
  ASSIGN_OR_RETURN(const std::string bus_id, BusIdOf(pod));
  const std::string line =
      fmt::format("NVRM: Xid (PCI:{}): 79, GPU has fallen off the bus.\n", bus_id);
  const Fd log(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  if (!log) return ErrnoStatus(errno, "open /dev/kmsg for --kernel-log");
  // As late as possible before the line is written: the kernel notifies its readers during the
  // write.
  const WallTime start = stage_.session().loop().WallNow();
  // With its newline: a line without one stays invisible to every reader until the next record.
  if (write(log.get(), line.data(), line.size()) < 0) {
    return ErrnoStatus(errno, "write to /dev/kmsg");
  }
  return start;
}

// The address in the driver's form, "0000:4b:00.0"; the kernel's line omits the function.
StatusOr<std::string> DemoStory::BusIdOf(const ObjectKey& pod) {
  const DeviceId id = stage_.DeviceOf(pod).value_or(DeviceId{});
  ASSIGN_OR_RETURN(const auto slices, stage_.session().List(kube::kResourceSlices, ""));
  for (const Json& object : slices) {
    ASSIGN_OR_RETURN(const kube::ResourceSlice slice, kube::DecodeSlice(object));
    for (const kube::SliceDevice& device : slice.devices) {
      const auto bus = device.attributes.find("resource.kubernetes.io/pciBusID");
      if (slice.driver != id.driver || device.name != id.device) continue;
      if (bus == device.attributes.end()) break;
      const auto& text = std::get<std::string>(bus->second);
      return text.substr(0, text.find('.'));
    }
  }
  return NotFound("{} publishes no PCI bus address", ToString(id));
}

StatusOr<Duration> DemoStory::Seen(const ObjectKey& pod, const Expected& expected, WallTime start,
                                   Duration limit) {
  if (stage_.WaitUntil([&] { return Says(pod, expected); }, limit))
    return stage_.SeenAt(pod) - start;
  RETURN_IF_ERROR(stage_.interrupted());
  const kube::ResourceHealth* health = stage_.HealthOf(pod);
  return DeadlineExceeded("Pod {} says {} after {} s, not {} {}; logs are in {}", ToString(pod),
                          health == nullptr ? "nothing" : health->health + " " + health->message,
                          limit / 1s, expected.health, expected.message, place_.directory);
}

bool DemoStory::Says(const ObjectKey& pod, const Expected& expected) const {
  const kube::ResourceHealth* health = stage_.HealthOf(pod);
  return health != nullptr && health->health == expected.health &&
         health->message.find(expected.message) != std::string::npos;
}

void DemoStory::Finish(int step, const std::string& text) {
  screen_.Finished(fmt::format("{}/{} {}", step, kSteps, text));
}

void DemoStory::Measure(const std::string& what, Duration took) {
  measured_.push_back(fmt::format("{:<52} {:>9.1f} ms", what, Milliseconds(took)));
}

}  // namespace galen::cli
