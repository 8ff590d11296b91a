// A change log in memory that a test can look into and break. For tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/health/change_log.h"

namespace galen::agent {

class FakeChangeLog final : public ChangeLog {
 public:
  void Changed(const HealthChange& change, const DeviceFacts&, std::uint64_t, WallTime) override {
    entries.push_back("changed " + change.after.id.device);
  }
  void Kept(const std::vector<HealthChange>& changes, OnDisk when, WallTime) override {
    const bool late = when == OnDisk::kAfterPublished;
    entries.push_back((late ? "kept late " : "kept ") + std::to_string(changes.size()));
  }
  void Published(const PodRef& pod, const DeviceHealth& health, const Publication&,
                 WallTime) override {
    entries.push_back("published " + pod.key.name + " " + health.id.device);
  }
  void Crashed(const Crash& crash, const std::vector<DeviceId>&) override {
    entries.push_back("crashed " + crash.text);
  }
  void DriverConnected(const std::string& driver, WallTime) override {
    drivers.push_back("+" + driver);
  }
  void DriverLost(const std::string& driver, const std::string& why, WallTime) override {
    drivers.push_back("-" + driver + ": " + why);
  }
  bool Assigned(const Assignment& assignment, WallTime) override {
    entries.push_back("assigned " + assignment.health.id.device);
    return true;
  }
  void AgentStarted(WallTime) override { entries.push_back("agent started"); }
  void AgentStopped(WallTime) override { entries.push_back("agent stopped"); }
  void Forget(const DeviceId& device, const std::string&, WallTime) override {
    entries.push_back("forgot " + device.device);
  }
  void Sync(Synced done) override {
    ++syncs;
    asked_.push_back(std::move(done));
    if (!hangs) Answer();
  }
  // The disk goes on: who asked meanwhile is answered.
  void Answer() {
    hangs = false;
    for (const Synced& done : std::exchange(asked_, {})) {
      entries.push_back("synced");
      done(fault);
    }
  }
  bool has_gaps() const override { return gaps; }
  std::vector<DeviceHealth> Devices() const override { return devices; }
  std::vector<DeviceHealth> BeforeSilence() const override { return before_silence; }
  std::vector<Step> StepsOf(const PodRef&, const std::vector<DeviceId>&) const override {
    return steps;
  }
  std::vector<Step> StepsOfEnded(const PodRef&, const std::vector<DeviceId>&,
                                 const Ending&) const override {
    return steps;
  }
  std::uint64_t records() const override { return entries.size(); }
  std::uint64_t bytes() const override { return 0; }

  std::vector<std::string> Take() { return std::exchange(entries, {}); }

  std::vector<std::string> entries;
  std::vector<std::string> drivers;
  std::vector<DeviceHealth> devices, before_silence;
  std::vector<Step> steps;
  Status fault;
  bool gaps = false;
  bool hangs = false;  // until Answer
  int syncs = 0;

 private:
  std::vector<Synced> asked_;
};

}  // namespace galen::agent
