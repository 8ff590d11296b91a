// A node in memory: a loop, a disk, sockets, and callers of what a driver serves there. For tests.
// No test of its own: each test of this room leans on it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/fake_boot_id.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "base/metrics.h"
#include "base/random.h"
#include "net/endpoint/fake_socket_host.h"
#include "net/fake_link.h"
#include "protos/dra_health/v1/health.pb.h"
#include "rpc/channel.h"
#include "rpc/typed.h"

namespace galen::sdk {

// One connection to a socket of the node, and the gRPC calls on it.
class FakeCaller {
 public:
  FakeCaller(FakeLoop& loop, net::Dialer& dialer, const std::string& path) : loop_(loop) {
    net::DialOptions options;
    options.target = "unix:" + path;
    dialling_ = dialer.Dial(options, [this](auto connection) {
      if (connection.ok()) connection_ = std::move(*connection);
    });
    loop_.RunUntilIdle();
    if (connection_) channel_.emplace(loop_, *connection_);
  }

  bool connected() const { return connection_ != nullptr && connection_->usable(); }
  rpc::Channel& channel() { return *channel_; }

  // Runs the loop until the answer is there or nothing is left to do.
  template <typename Response, typename Request>
  StatusOr<Response> Call(std::string_view method, const Request& request) {
    if (!channel_) return Unavailable("nobody listens");
    StatusOr<Response> answer = Unavailable("no answer yet");
    const auto call = rpc::Unary<Response>(
        *channel_, method, request, std::chrono::seconds(45),
        [&answer](StatusOr<Response> response) { answer = std::move(response); });
    loop_.RunUntilIdle();
    return answer;
  }

 private:
  FakeLoop& loop_;
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::optional<rpc::Channel> channel_;
};

// A kubelet that listens to a driver's health.
class FakeSubscriber final : private rpc::StreamSink {
 public:
  FakeSubscriber(FakeCaller& caller, std::string_view version)
      : call_(caller.channel().ServerStream(
            std::string("/") + std::string(version) + ".DRAResourceHealth/NodeWatchResources", "",
            *this)) {}

  const std::vector<v1::NodeWatchResourcesResponse>& reports() const { return reports_; }
  // The latest report on `device`; fails the process when there is none.
  const v1::DeviceHealth& Latest(std::string_view device) const {
    for (const v1::DeviceHealth& health : reports_.back().devices()) {
      if (health.device().device_name() == device) return health;
    }
    GALEN_UNREACHABLE();
  }
  const std::optional<Status>& end() const { return end_; }

 private:
  void OnMessage(std::string_view message) override {
    reports_.push_back(*rpc::Decode<v1::NodeWatchResourcesResponse>(message));
  }
  void OnEnd(const Status& status) override { end_ = status; }

  std::vector<v1::NodeWatchResourcesResponse> reports_;
  std::optional<Status> end_;
  std::unique_ptr<rpc::Call> call_;
};

struct FakeNode {
  FakeNode() { FakeBoot(files, "boot-1"); }
  FakeCaller Connect(const std::string& path) { return FakeCaller(loop, *dialer, path); }

  FakeLoop loop;
  Random random{7};
  Metrics metrics;
  FakeFileSystem files;
  net::LinkWeather weather;
  net::FakeNetwork network{loop, random};
  net::FakeSocketHost sockets{loop, network};
  std::unique_ptr<net::Dialer> dialer = network.MakeDialer(weather);
};

}  // namespace galen::sdk
