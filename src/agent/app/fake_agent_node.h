// One node of a simulated cluster with a whole agent on it, in one thread: embedded API with its
// controllers, fake drivers, a disk in memory. For tests.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/app/agent_app.h"
#include "agent/drivers/fake_plugin.h"
#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "cluster_sim/app/fake_cluster.h"

namespace galen::agent {

// The way to the API, which can be cut: open calls end, new ones fail. Or half open: calls go out
// and nothing comes back.
class FakeApiLink final : public net::HttpClient {
 public:
  FakeApiLink(Loop& loop, net::HttpClient& inner) : loop_(loop), inner_(inner) {}

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override;
  void SetDown(bool down);
  void GoHalfOpen() { half_open_ = true; }
  // No PING was answered: the connection ends as Http2Session ends it, and the next is well.
  void NoticeHalfOpen();
  // Requests sent so far that change something.
  int writes() const { return writes_; }
  int requests() const { return requests_; }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  class Call;

  Loop& loop_;
  net::HttpClient& inner_;
  bool down_ = false;
  bool half_open_ = false;
  int writes_ = 0;
  int requests_ = 0;
  std::vector<std::string> paths_;
  std::vector<Call*> calls_;  // the oldest first: addresses differ from run to run
};

class AgentNode {
 public:
  // An observer stands beside a hollow kubelet; a manager is its own node.
  explicit AgentNode(Role role);
  ~AgentNode();

  // A driver that offers these devices and says that they are well.
  FakePlugin& AddDriver(const std::vector<std::string>& devices, FakePlugin::Options options = {});
  // A Pod whose one container holds one device of the class, by a claim made from a template.
  void AddPod(const std::string& name, const std::string& device_class = "gpu.example.com");
  // Any Pod; gives it to the cluster. It tolerates virtual nodes.
  void CreatePod(Json pod);

  void StartAgent();
  // As kill -9: nothing is said to anyone, and what was not synced is lost.
  void KillAgent();

  void Pass(Duration d = std::chrono::seconds(1)) { cluster.Pass(d); }
  std::string Annotation(const std::string& pod);
  // "False XidGpuLost" of the Pod's condition galen.dev/DevicesHealthy; "" without one.
  std::string Condition(const std::string& pod);
  // "claim:gpu gpu.example.com/gpu=gpu-0 Unhealthy: message", one resource a line, of one
  // container.
  std::string Allocated(const std::string& pod, std::string_view list = "containerStatuses");
  // Reason and count of the Events on the Pod: "DeviceUnhealthy x1", in order of name.
  std::set<std::string> Events(const std::string& pod);
  Json NodeHealth();
  std::string DeviceOf(const std::string& pod);  // by its claim: "gpu-0"
  int Logged(std::string_view sentence) const;   // lines of the log with this in them
  // The cluster gets the kind that this file defines.
  void DefineNodeDeviceHealth(const std::string& crd_file);

  AgentConfig config;
  cluster_sim::FakeCluster cluster;
  Random random{7};
  net::LinkWeather weather;
  net::FakeNetwork network;
  FakeFileSystem files;
  // The running agent's; made with it.
  std::unique_ptr<FakeDiskQueue> disk, container_disk;
  FakeSocketDirectory registry, sources;
  std::vector<std::unique_ptr<FakePlugin>> drivers;
  api_sim::LocalTransport transport;
  FakeApiLink api;
  std::unique_ptr<net::Dialer> dialer;
  std::vector<std::string> lines;  // of the agent's log, from info on
  Log log;
  std::unique_ptr<Metrics> metrics;
  ContainerProcesses* processes = nullptr;  // of agents that are started from then on
  std::unique_ptr<AgentApp> app;
};

}  // namespace galen::agent
