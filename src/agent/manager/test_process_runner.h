// The stage of ProcessRunner's tests: a Pod with one device, its object and its processes. Test
// code.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/agent_metrics.h"
#include "agent/containers/fake_container_processes.h"
#include "agent/holdings/fake_node_view.h"
#include "agent/manager/process_runner.h"
#include "base/data/yaml.h"
#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {

inline const DeviceId kRunGpu{"gpu.example.com", "node-1", "gpu-0"};
inline const PodRef kRef{{"default", "a"}, "uid-a"};

class ProcessRunnerTest : public ::testing::Test {
 protected:
  ProcessRunnerTest() {
    metric::Declare(metrics_);
    object_ = ParseYaml(R"(
metadata: {name: a, namespace: default, uid: uid-a}
spec:
  restartPolicy: Always
  terminationGracePeriodSeconds: 30
  containers:
  - {name: train, image: x, command: [train, "--fast"], resources: {claims: [{name: gpu}]}}
)")
                  .value();
    api_.AnswerBy([this](const net::HttpRequest& request) {
      const bool pod = request.method == "GET" && request.path.ends_with("/pods/a");
      return kube::FakeTransport::Answer{.status = pod ? status_ : 201,
                                         .body = pod ? object_.Dump() : "{}"};
    });
    view_.AddPod("a").phase = "Pending";
    view_.AddClaim("a-gpu", {{"gpu", kRunGpu}}, "a");
    ClaimRecord& claim = claims_.Add({"default", "a-gpu"}, "uid-a-gpu");
    claim.devices = {{.device = kRunGpu, .cdi_ids = {"gpu.example.com/claim=gpu-0"}}};
    WriteCdi();
  }
  void WriteCdi() {
    ASSERT_TRUE(files_.MakeDirectories("/cdi", 0755).ok());
    ASSERT_TRUE(files_
                    .WriteAtomically("/cdi/gpu.json",
                                     R"({"kind": "gpu.example.com/claim", "devices": [{"name":
        "gpu-0", "containerEdits": {"env": ["GPU_UUID=1234"]}}]})",
                                     0644)
                    .ok());
  }
  kube::Pod& Pod() { return view_.pods.at(kRef.key); }
  void Run() {
    runner_.Run(Pod());
    loop_.Advance(std::chrono::milliseconds(10));
  }
  // The process that runs ends so.
  void EndProcess(ProcessEnd end) {
    ASSERT_EQ(processes_.Running().size(), 1u);
    processes_.End(processes_.Running().front(), end);
    loop_.Advance(std::chrono::milliseconds(1));
  }
  Json Status() { return runner_.StatusOf(kRef).value_or(Json())["containerStatuses"][0]; }
  // The file that the process which runs is to leave its message in.
  std::string MessageFile() {
    for (const std::string& line : processes_.started.back().environment) {
      if (line.starts_with("GALEN_TERMINATION_LOG=")) return line.substr(line.find('=') + 1);
    }
    return "";
  }
  std::string WaitingFor() { return Status()["state"]["waiting"]["reason"].AsString(); }

  FakeLoop loop_;
  Random random_{1};
  Metrics metrics_;
  FakeFileSystem files_;
  FakeDiskQueue disk_;
  FakeNodeView view_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  ClaimCheckpoint claims_{files_, "/claims.json"};
  EventPublisher events_{{loop_, random_, NullLog(), metrics_, client_}, "node-1"};
  FakeContainerProcesses processes_{loop_, files_};
  Json object_;
  int status_ = 200;
  std::vector<std::string> changed_;
  ProcessRunner runner_{
      {loop_, random_, NullLog(), metrics_, files_, disk_, client_, events_, processes_, view_,
       claims_},
      {.node = "node-1", .directory = "/s/pods", .path = "/bin", .cdi_directories = {"/cdi"}},
      [this](const PodRef& pod) { changed_.push_back(pod.key.name); }};
};

}  // namespace galen::agent
