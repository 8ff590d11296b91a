// For tests: Pods of one node that end, on a disk whose power can be cut.
#pragma once

#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"
#include "agent/post_mortem/post_mortem_keeper.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "history/journal/test_synced.h"
#include "model/fault.h"

namespace galen::agent {

/// Ended Pods and the keeper that writes about them.
class EndedPodsTest : public ::testing::Test {
 protected:
  /// The GPU that the Pods of these tests hold.
  static inline const DeviceId kGpu{"gpu.example.com", "node-1", "gpu-0"};

  EndedPodsTest() {
    health_.id = kGpu;
    health_.state = HealthState::kHealthy;
    health_.since = loop_.WallNow() - std::chrono::hours(1);
    Open();
  }

  void Open(const NodeBoot& boot = {}, bool synced = true) {
    journal_ = history::Store::Open(files_, {.directory = "/journal"}).value();
    store_ = history::PostMortemStore::Open(
                 files_, {.directory = "/post-mortem", .bytes_max = store_bytes_max_})
                 .value();
    keeper_.emplace(PostMortemKeeper::Parts{
        .loop = loop_,
        .log = log_,
        .clock = clock_,
        .store = *store_,
        .journal = *journal_,
        .claims = index_,
        .view = view_,
        .node = "node-1",
        .unseen_since = [this] { return unseen_since_; },
        .health_of =
            [this](const DeviceId& id) {
              if (id == kGpu) return health_;
              return DeviceHealth{.id = id, .state = HealthState::kHealthy};
            },
        .identity_of = [](const DeviceId& id) { return DeviceIdentity{id, "S1", "H200"}; },
        .publish_event =
            [this](const PodRef& pod, const std::string& subject, const EventText&,
                   const EventPublisher::OnEnd& on_end) {
              published_.push_back(pod.key.name + " " + subject);
              if (api_answers_) on_end(!lets_go_);
            },
        .on_notable = [this] { ++notable_calls_; }});
    keeper_->Start(boot);
    if (synced) keeper_->OnSynced();
  }
  /// As a power cut.
  void Restart(const NodeBoot& boot = {}, bool synced = true) {
    keeper_.reset();
    files_.Crash();
    Open(boot, synced);
  }
  void Add(const std::string& name) {
    kube::Pod& pod = view_.AddPod(name);
    pod.meta.owners = {{.uid = "job", .controller = true}};
    pod.statuses = {{.name = "train", .running = true}};
    view_.AddClaim(name + "-gpu", {{.device = kGpu}}, name);
    index_.PodChanged(pod.meta.key);
    keeper_->OnPod(pod.meta.key, nullptr, &pod);
    loop_.RunUntilIdle();
  }
  /// The Pod goes from the API, and its claim with it.
  void Remove(const std::string& name) {
    const kube::Pod before = view_.pods.at({"default", name});
    view_.pods.erase(before.meta.key);
    view_.claims.erase({"default", name + "-gpu"});
    index_.PodChanged(before.meta.key);
    keeper_->OnPod(before.meta.key, &before, nullptr);
    loop_.RunUntilIdle();
  }
  void Change(HealthState state, Duration sign_ago = {}) {
    const DeviceHealth before = health_;
    health_.state = state;
    health_.since = loop_.WallNow() - sign_ago;
    health_.cause.owner = IsFault(state) ? FaultOwner::kHardware : FaultOwner::kNobody;
    const HealthChange change{before, health_};
    journal_->Append({.time = loop_.WallNow(),
                      .kind = history::Kind::kChange,
                      .device = kGpu,
                      .change = change});
    EXPECT_TRUE(history::Synced(*journal_).ok());
    keeper_->OnChanges({change});
  }
  /// The kubelet shows that the container ended just now, and runs again unless it is for good.
  kube::Pod& Crash(const std::string& name, int code, const std::string& message = "",
                   bool for_good = false) {
    kube::Pod& pod = view_.pods.at({"default", name});
    const kube::Pod before = pod;
    pod.statuses = {{.name = "train",
                     .running = !for_good,
                     .exit_code = code,
                     .finished = loop_.WallNow(),
                     .restarts = 1,
                     .end_message = message}};
    if (for_good) pod.phase = "Failed";
    keeper_->OnPod(pod.meta.key, &before, &pod);
    loop_.RunUntilIdle();
    return pod;
  }
  /// Pod "a" ends for good beside "b", which goes on with a device of its own, and then its own
  /// fails.
  void CrashBesideAPeer(const std::string& message) {
    Add("a");
    Add("b");
    view_.claims.at({"default", "b-gpu"}).devices[0].device.device = "gpu-1";
    index_.PodChanged({"default", "b"});
    loop_.Advance(std::chrono::minutes(10));
    Crash("a", 1, message, true);
    loop_.Advance(std::chrono::seconds(3));
    Change(HealthState::kUnhealthy);
    loop_.Advance(std::chrono::seconds(10));
  }
  /// On Pod "a": "Hardware", say.
  std::string VerdictNow() {
    const std::vector<history::PostMortem> records = keeper_->Records(ObjectKey{"default", "a"});
    return records.empty() ? "" : std::string(ToString(records.at(0).verdict.kind));
  }
  std::vector<std::string> Records() {
    std::vector<std::string> said;
    for (const history::PostMortem& record : keeper_->Records(std::nullopt)) {
      said.push_back(record.pod.key.name + " " + std::string(ToString(record.end)));
      for (const auto& f : record.devices.at(0).findings) {
        said.back() += " " + std::string(ToString(f.health.state));
      }
    }
    return said;
  }

  std::vector<std::string> logged_;
  FakeLoop loop_;
  ClockSteps clock_{loop_};
  FakeFileSystem files_;
  Log log_{LogLevel::kWarning, [] { return WallTime(); },
           [this](LogLevel, std::string_view line) { logged_.emplace_back(line); }};
  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
  DeviceHealth health_;
  std::optional<WallTime> unseen_since_;
  std::unique_ptr<history::Store> journal_;
  std::unique_ptr<history::PostMortemStore> store_;
  std::size_t store_bytes_max_ = std::size_t{2} << 20;
  std::vector<std::string> published_;
  bool api_answers_ = true;  // each Event is written at once
  bool lets_go_ = false;     // or rather let go
  int notable_calls_ = 0;
  std::optional<PostMortemKeeper> keeper_;
};

}  // namespace galen::agent
