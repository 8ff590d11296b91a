// A scripted driver, an API server with its slices, a disk and a network, and the examination of it
// all in one thread. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api_sim/serving/api_server.h"
#include "api_sim/serving/local_transport.h"
#include "base/files/fake_file_system.h"
#include "base/log.h"
#include "base/loop/fake_loop.h"
#include "conformance/examination.h"
#include "conformance/fake_driver.h"
#include "conformance/fake_waiter.h"
#include "conformance/probes.h"
#include "kube/request.h"
#include "net/fake_link.h"

namespace galen::conformance {

struct FakeScene {
  static constexpr char kSocket[] = "/k/plugins_registry/gpu.example.com-reg.sock";

  FakeScene() {
    EXPECT_TRUE(files.MakeDirectories("/cdi", 0755).ok());
    Create(kube::kNamespaces, "", R"({"apiVersion": "v1", "kind": "Namespace",
      "metadata": {"name": "t"}})");
    Create(kube::kNodes, "", R"({"apiVersion": "v1", "kind": "Node",
      "metadata": {"name": "node-7"}})");
  }

  // What a driver would publish.
  void Publish() {
    Create(kube::kResourceSlices, "", R"({"apiVersion": "resource.k8s.io/v1",
      "kind": "ResourceSlice", "metadata": {"name": "s"},
      "spec": {"driver": "gpu.example.com", "nodeName": "node-7",
        "pool": {"name": "node-7", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}})");
  }

  FakeDriver& Start(FakeDriver::Script script = {}) {
    driver = std::make_unique<FakeDriver>(loop, files, &client, std::move(script));
    Listen();
    driver->OnEnd([this] {
      network.StopListening(std::string("unix:") + kSocket);
      network.StopListening("unix:" + driver->script().info.endpoint);
    });
    return *driver;
  }
  void Listen() {
    network.Listen(std::string("unix:") + kSocket, driver->registration());
    network.Listen("unix:" + driver->script().info.endpoint, driver->data());
  }

  ExaminationOptions Options() {
    ExaminationOptions options;
    options.found = {.socket = kSocket,
                     .is_socket = true,
                     .info = AskInfo(edges, kSocket),
                     .kubelet_root = "/k"};
    options.cdi_directories = {"/cdi"};
    options.ns = "t";
    return options;
  }
  Observations Run() { return Examine(edges, Options()); }

  StatusOr<Json> Do(net::HttpRequest request) {
    StatusOr<Json> answer = Unavailable("no answer");
    const auto call = client.Do(std::move(request), [&](auto json) { answer = std::move(json); });
    loop.RunUntilIdle();
    return answer;
  }
  void Create(const kube::Resource& resource, const std::string& ns, const char* text) {
    const StatusOr<Json> made = Do(kube::Create(resource, ns, *Json::Parse(text)));
    EXPECT_TRUE(made.ok()) << ToString(made.status());
  }

  FakeLoop loop;
  Random random{46};
  FakeFileSystem files;
  FakeWaiter waiter{loop};
  net::LinkWeather weather;
  net::FakeNetwork network{loop, random};
  std::unique_ptr<net::Dialer> dialer = network.MakeDialer(weather);
  std::unique_ptr<api_sim::ApiServer> server =
      std::move(*api_sim::ApiServer::Create(loop, random, NullLog(), {}));
  api_sim::LocalTransport local{loop, *server};
  kube::Client client{loop, local};
  std::unique_ptr<FakeDriver> driver;
  Edges edges{loop, waiter, *dialer, files, random, &client, [](const std::string& path) {
                return StatusOr<std::string>(path);
              }};
};

}  // namespace galen::conformance
