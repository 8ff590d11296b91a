// A whole simulated cluster for tests: API, controllers and nodes in one thread, whose time moves
// only when a test says so.
#pragma once

#include <memory>
#include <string>

#include "api_sim/serving/local_transport.h"
#include "base/log.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"
#include "cluster_sim/app/sim_app.h"
#include "kube/client.h"
#include "kube/request.h"

namespace galen::cluster_sim {

class FakeCluster {
 public:
  // Returns with the controllers ready, a second after the start of fake time. The same options and
  // seed give the same run.
  explicit FakeCluster(ClusterApp::Options options = {}, std::uint64_t seed = 1);

  // Lets `d` pass; a second is plenty for anything that waits for nothing.
  void Pass(Duration d = std::chrono::seconds(1)) { loop_.Advance(d); }

  // Each asks the API and lets the loop take steps until the answer is there; fake time moves as
  // far as that needs. Do gives errors as kube::Client does; the others crash the test on one.
  StatusOr<Json> Do(net::HttpRequest request);
  // In namespace "default" where the kind has namespaces; uid and status of `object` are left out.
  // REQUIRES: it is accepted.
  Json Create(const kube::Resource& resource, const Json& object);  // REQUIRES: it is accepted
  // Null when there is no such object, or on any other error. `ns` "" is for cluster-scoped kinds.
  Json Get(const kube::Resource& resource, const std::string& name, const std::string& ns = "");
  std::vector<Json> List(const kube::Resource& resource);
  // Asks for deletion with `grace` seconds; a Pod on a node goes when its node lets it.
  void Delete(const kube::Resource& resource, const std::string& name, const std::string& ns,
              std::int64_t grace = 30);

  // The same for the kinds tests name most, in namespace "default".
  void AddClass(const std::string& name, const std::string& driver);
  void AddSlice(const Json& slice) { Create(kube::kResourceSlices, slice); }
  Json Pod(const std::string& name) { return Get(kube::kPods, name, "default"); }
  Json Claim(const std::string& name) { return Get(kube::kResourceClaims, name, "default"); }
  // "reason: message" of the Pod's PodScheduled condition; ": " when it has none.
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
  api_sim::LocalTransport transport_;
  kube::Client client_;
};

}  // namespace galen::cluster_sim
