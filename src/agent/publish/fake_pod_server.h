// The stage of PodPublisher's tests: one Pod that holds one GPU, and a server that keeps what is
// patched.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_metrics.h"
#include "agent/holdings/fake_node_view.h"
#include "agent/publish/pod_publisher.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {

class PodPublisherTest : public ::testing::Test {
 protected:
  static inline const DeviceId kGpu{"gpu.example.com", "node-1", "gpu-0"};
  static inline const ObjectKey kPod{"default", "a"};

  PodPublisherTest() {
    metric::Declare(metrics_);
    health_ = {.id = kGpu, .state = HealthState::kHealthy};
    view_.AddPod("a");
    view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
    index_.PodChanged(kPod);
    api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
    Make(false);
  }

  void Make(bool manager) {
    publisher_.emplace(
        PodPublisher::Edges{{loop_, random_, log_, metrics_, client_}, view_, index_},
        PodPublisher::Options{
            .manager = manager,
            .health_of = [this](const DeviceId&) { return health_; },
            .health_at = [this](const DeviceId&, WallTime) { return at_end_; },
            .patience_with = [this](const kube::Pod&) { return patience_; },
            .runs = [this](const kube::Pod&) { return runs_; },
            .run_of = [this](const kube::Pod&) { return run_; },
            .on_published =
                [this](const kube::Pod&, const DeviceHealth& health, const Publication& how) {
                  published_.push_back(std::string(ToString(health.state)));
                  after_sign_ = how.after_sign;
                  annotated_ = how.annotated;
                }});
    publisher_->Open();
  }

  // The server: keeps what is patched and, unless the informer is slow, shows it at once.
  std::optional<kube::FakeTransport::Answer> Answer(const net::HttpRequest& request) {
    if (status_ != 200) return kube::FakeTransport::Answer{.status = status_, .body = refusal_};
    if (request.method == "GET") {
      if (on_read_) std::exchange(on_read_, nullptr)();
      return kube::FakeTransport::Answer{.body = object_};
    }
    if (!refused_text_.empty() && request.body.find(refused_text_) != std::string::npos) {
      return kube::FakeTransport::Answer{.status = 422, .body = refusal_};
    }
    const Json patch = Json::Parse(request.body).value();
    patches_.push_back(patch);
    kube::Pod& pod = view_.pods.at(kPod);
    const std::string& text = patch["metadata"]["annotations"][kube::kDevicesAnnotation].AsString();
    if (informer_follows_ && !text.empty()) pod.devices_annotation = text;
    for (const Json& c : patch["status"]["conditions"].items()) {
      for (const auto& [member, value] : c.members()) condition_[member] = value;
      if (!informer_follows_) continue;
      pod.conditions = {{.type = c["type"].AsString(),
                         .status = c["status"].AsString(),
                         .reason = c["reason"].AsString(),
                         .message = c["message"].AsString()}};
    }
    return kube::FakeTransport::Answer{.body = Stored().Dump()};
  }
  // The Pod as the server has it, as far as anybody here looks at it.
  Json Stored() const {
    Json pod = Json::MakeObject(
        {{"metadata",
          Json::MakeObject({{"name", "a"}, {"namespace", "default"}, {"uid", "uid-a"}})}});
    if (!condition_.is_null()) pod["status"]["conditions"].Append(condition_);
    return pod;
  }

  void Turn(HealthState state) { Turn(state, loop_.WallNow()); }
  void Turn(HealthState state, WallTime since) {
    health_ = {.id = kGpu, .state = state, .cause = {.code = "X"}, .since = since};
    publisher_->Expect(kPod, health_);
    publisher_->MarkDirty(kPod);
  }

  // The Pod's container has ended now, and with it the Pod.
  void EndPod() {
    view_.pods.at(kPod).phase = "Failed";
    view_.pods.at(kPod).statuses = {{.name = "train", .finished = loop_.WallNow()}};
    index_.PodChanged(kPod);
  }

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  Random random_{1};
  Metrics metrics_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
  DeviceHealth health_;
  DeviceHealth at_end_{.id = kGpu};  // of a Pod that ended before this agent began
  Duration patience_{};
  bool runs_ = false;
  std::optional<Json> run_;  // what became of the Pod's containers
  int status_ = 200;
  std::string refusal_;       // its body
  std::string refused_text_;  // a patch with it is refused; "": none
  bool informer_follows_ = true;
  Json condition_;  // as the server has it, with its time
  std::string object_;
  std::function<void()> on_read_;  // called once, when the server is asked for it
  std::vector<Json> patches_;
  std::vector<std::string> published_;
  Duration after_sign_{};
  bool annotated_ = false;
  std::optional<PodPublisher> publisher_;
};

}  // namespace galen::agent
