// The stage of NodePublisher's tests: a server that keeps the one object, its Node and a watch.
// Test code.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/agent_metrics.h"
#include "agent/publish/node_publisher.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {

class NodePublisherTest : public ::testing::Test {
 protected:
  NodePublisherTest()
      : log_(
            LogLevel::kInfo, [this] { return loop_.WallNow(); },
            [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }) {
    metric::Declare(metrics_);
    api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
    Restart();
    wanted_.node = "node-1";
    wanted_.summary.devices = 1;
  }

  void Restart() {
    publisher_.emplace(NodePublisher::Edges{loop_, random_, log_, metrics_, client_}, "node-1",
                       [this](const auto&) { return wanted_; });
  }
  // The object after a patch that replaces its status.
  std::string Patched(const std::string& text) const {
    const Json patch = Json::Parse(text).value();
    EXPECT_EQ(patch[0]["path"].AsString(), "/status") << text;
    Json object = Json::Parse(stored_).value();
    object["status"] = patch[0]["value"];
    return object.Dump();
  }
  void Alter(const std::string& status) {
    Json object = Json::Parse(stored_).value();
    object["status"] = Json::Parse(status).value();
    stored_ = object.Dump();
  }
  void PutOwners(const Json& owners) {
    Json object = Json::Parse(stored_).value();
    object["metadata"].Erase("ownerReferences");
    if (!owners.is_null()) object["metadata"]["ownerReferences"] = owners;
    stored_ = object.Dump();
  }
  std::string Owners() const {
    return Json::Parse(stored_).value()["metadata"]["ownerReferences"].Dump();
  }
  static bool IsOfNode(const net::HttpRequest& request) {
    return request.path.starts_with("/api/v1/nodes/node-1");
  }
  static bool IsOfWatcher(const net::HttpRequest& request) {
    return request.path.find("fieldSelector") != std::string::npos;
  }
  std::optional<kube::FakeTransport::Answer> Answer(const net::HttpRequest& request) {
    if (IsOfWatcher(request)) return AnswerWatcher(request);
    if (refused_) return kube::FakeTransport::Answer{.status = refused_};
    if (IsOfNode(request)) return node_;
    const bool status = request.path.find("/status") != std::string::npos;
    if (owner_refused_ && request.body.find("ownerReferences") != std::string::npos) {
      return kube::FakeTransport::Answer{.status = owner_refused_};
    }
    if (!kind_exists_ || (!object_exists_ && (request.method == "GET" || status))) {
      return kube::FakeTransport::Answer{.status = 404};
    }
    if (request.method == "GET" && holds_reads_) return std::nullopt;
    if (request.method == "GET") return kube::FakeTransport::Answer{.body = stored_};
    object_exists_ = true;
    if (status) stored_ = Patched(request.body);
    if (!status) PutOwners(Json::Parse(request.body).value()["metadata"]["ownerReferences"]);
    return kube::FakeTransport::Answer{.body = "{}"};
  }
  std::optional<kube::FakeTransport::Answer> AnswerWatcher(const net::HttpRequest& request) {
    if (!kind_exists_) return kube::FakeTransport::Answer{.status = 404};
    if (request.path.find("watch=") != std::string::npos) return std::nullopt;  // a test's to send
    const std::string items = object_exists_ ? stored_ : "";
    return kube::FakeTransport::Answer{
        .body = R"({"metadata": {"resourceVersion": "1"}, "items": [)" + items + "]}"};
  }
  // What the watch reports of the object.
  void Watched(const std::string& type) {
    Json object = Json::Parse(stored_).value();
    object["metadata"]["resourceVersion"] = "2";
    const std::string line =
        Json::MakeObject({{"type", type}, {"object", std::move(object)}}).Dump() + "\n";
    for (std::size_t i = api_.requests().size(); i-- > 0;) {
      if (api_.requests()[i].path.find("watch=") == std::string::npos) continue;
      api_.Head(i);
      api_.Data(i, line);
      break;
    }
  }
  std::vector<std::string> Take() {
    std::vector<std::string> verbs;
    for (; seen_ < api_.requests().size(); ++seen_) {
      const net::HttpRequest& request = api_.requests()[seen_];
      if (IsOfWatcher(request)) continue;
      const bool status = request.path.find("/status") != std::string::npos;
      const char* of = IsOfNode(request) ? " node" : status ? " status" : "";
      verbs.push_back(request.method + of);
    }
    return verbs;
  }
  void Look() {
    publisher_->MarkDirty();
    loop_.Advance(std::chrono::seconds(1));
  }

  FakeLoop loop_;
  Random random_{1};
  std::vector<std::string> lines_;
  Log log_;
  Metrics metrics_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  bool kind_exists_ = true;
  bool holds_reads_ = false;  // their answers are a test's to send
  bool object_exists_ = false;
  kube::FakeTransport::Answer node_{.body = R"({"metadata": {"name": "node-1", "uid": "n1"}})"};
  int refused_ = 0;        // the status of the answer to all but the watch; 0: each its own
  int owner_refused_ = 0;  // the status of the answer to writes of it; 0: taken
  std::string stored_ = R"({"metadata": {"name": "node-1", "uid": "u"}})";
  std::size_t seen_ = 0;
  kube::NodeDeviceHealth wanted_;
  std::optional<NodePublisher> publisher_;
};

}  // namespace galen::agent
