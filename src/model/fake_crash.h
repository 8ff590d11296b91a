// Makes up the evidence of a crash, sentence by sentence. For tests.
#pragma once

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "model/crash_evidence.h"

namespace galen {

// A Pod "train/trainer-0" on node-7 whose container "train" ran for an hour on gpu-3, which was
// Healthy, and ended at `kEnd`. Times are given relative to that. Calls are chained.
class FakeCrash {
 public:
  static constexpr WallTime kEnd{std::chrono::seconds(1'795'269'734)};  // 2026-11-21T14:02:14Z

  FakeCrash() {
    evidence_.pod = {{"train", "trainer-0"}, "uid-1"};
    evidence_.node = "node-7";
    evidence_.containers.push_back({.container = "train",
                                    .reason = "Error",
                                    .started = kEnd - std::chrono::hours(1),
                                    .finished = kEnd});
    AddDevice("gpu-3");
  }

  const CrashEvidence& evidence() const { return evidence_; }
  operator CrashEvidence() const { return evidence_; }  // NOLINT: so that a table reads well

  FakeCrash& Exit(int code) {
    evidence_.containers[0].exit_code = code;
    return *this;
  }
  FakeCrash& Signal(int signal) { return Exit(128 + signal); }
  FakeCrash& Reason(std::string reason) {
    evidence_.containers[0].reason = std::move(reason);
    return *this;
  }
  FakeCrash& Says(std::string message) {
    evidence_.containers[0].message = std::move(message);
    return *this;
  }
  FakeCrash& RanFor(Duration span) {
    evidence_.containers[0].started = kEnd - span;
    return *this;
  }
  FakeCrash& StartUnknown() {
    evidence_.containers[0].started.reset();
    return *this;
  }
  FakeCrash& Restarted(int times) {
    evidence_.containers[0].restarts = times;
    return *this;
  }
  FakeCrash& Also(std::string container, int exit_code, Duration at) {
    evidence_.containers.push_back(
        {.container = std::move(container), .exit_code = exit_code, .finished = kEnd + at});
    return *this;
  }

  // Another device; later findings are of it.
  FakeCrash& AddDevice(const std::string& name, std::vector<std::string> containers = {}) {
    DeviceTimeline device;
    device.identity.id = {"gpu.example.com", "node-7", name};
    device.containers = std::move(containers);
    evidence_.devices.push_back(std::move(device));
    return Well(-std::chrono::hours(24));
  }
  // The first device is only seen by this container.
  FakeCrash& SeenBy(std::string container) {
    evidence_.devices[0].containers = {std::move(container)};
    return *this;
  }
  FakeCrash& NoDevices() {
    evidence_.devices.clear();
    return *this;
  }
  // Nobody ever said how the device is.
  FakeCrash& NothingKnown() {
    evidence_.devices.back().findings.clear();
    return Finds(-std::chrono::hours(24), HealthState::kUnknown, "NotReported", FaultOwner::kNobody,
                 "driver gpu.example.com reports no health");
  }

  FakeCrash& Finds(Duration at, HealthState state, std::string code, FaultOwner owner,
                   std::string message) {
    DeviceTimeline& device = evidence_.devices.back();
    DeviceHealth finding;
    finding.id = device.identity.id;
    finding.state = state;
    finding.cause.code = std::move(code);
    finding.cause.owner = owner;
    finding.cause.message = std::move(message);
    finding.since = kEnd + at;
    device.findings.push_back(std::move(finding));
    return *this;
  }
  FakeCrash& Well(Duration at) {
    return Finds(at, HealthState::kHealthy, "", FaultOwner::kNobody, "");
  }
  FakeCrash& Silent(Duration at) {
    return Finds(at, HealthState::kUnknown, "DriverGone", FaultOwner::kNobody, "driver is gone");
  }
  // Faults of the hardware, named as the probes' rules do.
  FakeCrash& Lost(Duration at) {
    return Bad(at, "XidGpuLost", "XID 79: GPU has fallen off the bus");
  }
  FakeCrash& Ecc(Duration at) {
    return Bad(at, "EccUncorrectable", "XID 48: uncorrectable memory error");
  }
  FakeCrash& Bad(Duration at, std::string code, std::string message) {
    return Finds(at, HealthState::kUnhealthy, std::move(code), FaultOwner::kHardware,
                 std::move(message));
  }
  FakeCrash& Contained(Duration at) {
    return Finds(at, HealthState::kDegraded, "EccContained", FaultOwner::kHardware,
                 "XID 94: memory error that was contained to one program");
  }
  FakeCrash& Narrow(Duration at) {
    return Finds(at, HealthState::kDegraded, "PcieWidthReduced", FaultOwner::kHardware,
                 "PCIe link x8, expected x16: half the bandwidth");
  }
  FakeCrash& Hot(Duration at) {
    return Bad(at, "TemperatureHigh", "GPU temperature 91 °C exceeds 85 °C");
  }
  // Faults of a program: the device stays Healthy.
  FakeCrash& PageFault(Duration at) {
    return Finds(at, HealthState::kHealthy, "XidPageFault", FaultOwner::kApplication,
                 "XID 31: MMU page fault of the program");
  }
  FakeCrash& OutOfBounds(Duration at) {
    return Finds(at, HealthState::kHealthy, "XidGraphicsFault", FaultOwner::kApplication,
                 "XID 13: graphics engine fault, usually an access out of bounds");
  }
  FakeCrash& ProgramEnded(Duration at) {
    return Finds(at, HealthState::kHealthy, "XidProgramEnded", FaultOwner::kApplication,
                 "XID 45: the channel of an ended program was torn down");
  }
  FakeCrash& DriverFails(Duration at) {
    return Finds(at, HealthState::kUnhealthy, "XidGspFailed", FaultOwner::kDriver,
                 "XID 119: the GPU's system processor does not answer or failed");
  }

  // Ranks of the same job on other devices of the node, which are well; a code of nullopt: it runs.
  FakeCrash& Peers(int count, std::optional<int> exit_code = {}, Duration at = {}) {
    return Add(count, {.same_workload = true, .devices = HealthState::kHealthy}, exit_code, at);
  }
  FakeCrash& Siblings(int count, std::optional<int> exit_code = {}, Duration at = {}) {
    return Add(count, {.same_device = true}, exit_code, at);
  }
  FakeCrash& Strangers(int count, std::optional<int> exit_code = {}, Duration at = {}) {
    return Add(count, {.devices = HealthState::kHealthy}, exit_code, at);
  }

  FakeCrash& Node(NodeEvent::Kind kind, Duration at) {
    evidence_.node_events.push_back({.kind = kind, .time = kEnd + at, .text = ""});
    return *this;
  }
  FakeCrash& PodReason(std::string reason) {
    evidence_.pod_reason = std::move(reason);
    return *this;
  }
  FakeCrash& Deleted(Duration at) {
    evidence_.deleted = kEnd + at;
    return *this;
  }
  FakeCrash& Mismatch() {
    evidence_.driver_mismatch = DriverMismatch{
        .driver = "gpu.example.com", .kernel_version = "575.57", .library_version = "570.86"};
    return *this;
  }

 private:
  FakeCrash& Add(int count, const Neighbour& like, std::optional<int> exit_code, Duration at) {
    for (int i = 0; i < count; ++i) {
      Neighbour neighbour = like;
      neighbour.pod.key = {"train", "neighbour-" + std::to_string(evidence_.neighbours.size())};
      neighbour.container = "main";
      if (exit_code) {
        neighbour.end =
            ContainerEnd{.container = "main", .exit_code = exit_code, .finished = kEnd + at};
      }
      evidence_.neighbours.push_back(std::move(neighbour));
    }
    return *this;
  }

  CrashEvidence evidence_;
};

}  // namespace galen
