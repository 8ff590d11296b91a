// A whole simulated cluster for tests: API, controllers and nodes in one thread, whose time moves
// only when a test says so.
#pragma once

#include <memory>
#include <string>

#include "base/fake_loop.h"
#include "base/log.h"
#include "base/random.h"
#include "cluster_sim/cluster_app.h"
#include "cluster_sim/local_transport.h"
#include "kube/client.h"
#include "kube/request.h"

namespace galen::cluster_sim {

class FakeCluster {
 public:
  explicit FakeCluster(ClusterApp::Options options = {}, std::uint64_t seed = 1);

  // Lets `d` pass; a second is plenty for anything that waits for nothing.
  void Pass(Duration d = std::chrono::seconds(1)) { loop_.Advance(d); }

  // Each asks the API and waits for its answer, at most some seconds of fake time.
  StatusOr<Json> Do(net::HttpRequest request);
  Json Create(const kube::Resource& resource, const Json& object);  // REQUIRES: it is accepted
  // Null when there is no such object.
  Json Get(const kube::Resource& resource, const std::string& name, const std::string& ns = "");
  std::vector<Json> List(const kube::Resource& resource);
  // Asks for deletion with `grace` seconds.
  void Delete(const kube::Resource& resource, const std::string& name, const std::string& ns,
              std::int64_t grace = 30);

  // The same for the kinds tests name most, in namespace "default".
  void AddClass(const std::string& name, const std::string& driver);
  void AddSlice(const Json& slice) { Create(kube::kResourceSlices, slice); }
  Json Pod(const std::string& name) { return Get(kube::kPods, name, "default"); }
  Json Claim(const std::string& name) { return Get(kube::kResourceClaims, name, "default"); }
  // "reason: message" of the Pod's PodScheduled condition.
  std::string WhyPending(const std::string& pod);
  // Whether an Event of this reason is about an object of this name.
  bool HasEvent(const std::string& reason, const std::string& name);

  FakeLoop& loop() { return loop_; }
  ClusterApp& app() { return *app_; }
  kube::Client& client() { return client_; }

 private:
  FakeLoop loop_;
  Random random_;
  std::unique_ptr<ClusterApp> app_;
  LocalTransport transport_;
  kube::Client client_;
};

}  // namespace galen::cluster_sim
