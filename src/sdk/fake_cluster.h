// The embedded API for tests of what talks to it: with one node, reachable or not. For tests.
// No test of its own: the tests of slices and of the whole driver lean on it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api_sim/serving/api_server.h"
#include "api_sim/serving/local_transport.h"
#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/fake_loop.h"
#include "kube/client.h"
#include "kube/objects/resource_slice.h"
#include "kube/request.h"

namespace galen::sdk {

// An API server that can go away: then every request fails as a refused connection does. And one
// whose feature gates can be off: then it drops their fields of devices, silently.
class FakeWire final : public net::HttpClient {
 public:
  FakeWire(Loop& loop, net::HttpClient& server) : loop_(loop), server_(server) {}

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override {
    if (request.method != "GET") ++writes_;
    if (hangs_) return std::make_unique<net::HttpCall>();
    if (!dropped_.empty() && !request.body.empty()) request.body = WithoutDropped(request.body);
    if (away_) return std::make_unique<Refused>(loop_, sink);
    const bool is_news = request.path.find("watch=") != std::string::npos;
    Gate& gate = is_news ? news_ : request.method == "GET" ? reads_ : answers_;
    auto call = std::make_unique<Gated>(gate, sink);
    call->Begin(server_, std::move(request));
    return call;
  }
  void GoAway(bool away) { away_ = away; }
  // From now on nothing is answered.
  void Hang(bool hangs) { hangs_ = hangs; }
  // From now on `field` of each device of a ResourceSlice is dropped, or kept again.
  void Drop(const std::string& field) { dropped_.insert(field); }
  void Keep(const std::string& field) { dropped_.erase(field); }
  // From now on what watches show, or what writes are answered, is on its way; then all of it
  // comes.
  void HoldNews() { news_.held = true; }
  void HoldAnswers() { answers_.held = true; }
  void LetNewsPass() { news_.Open(loop_); }
  void LetAnswersPass() { answers_.Open(loop_); }
  int writes() const { return writes_; }

 private:
  struct Gate {
    void Pass(Task task) { held ? kept.push_back(std::move(task)) : task(); }
    // One after the other, with time for whoever receives them to act on each.
    void Open(Loop& loop) {
      held = false;
      Duration after{};
      for (Task& task : std::exchange(kept, {})) {
        coming.push_back(loop.After(after += std::chrono::milliseconds(1), std::move(task)));
      }
    }
    bool held = false;
    std::vector<Task> kept;
    std::vector<Timer> coming;
  };
  // A call whose answer goes through a gate.
  class Gated final : public net::HttpCall, private net::HttpResponseSink {
   public:
    Gated(Gate& gate, net::HttpResponseSink& sink) : gate_(gate), sink_(sink) {}
    void Begin(net::HttpClient& server, net::HttpRequest request) {
      call_ = server.Send(std::move(request), *this);
    }

   private:
    void OnHead(int status, const net::Headers& headers) override {
      Pass([this, status, headers] { sink_.OnHead(status, headers); });
    }
    void OnData(std::string_view bytes) override {
      Pass([this, data = std::string(bytes)] { sink_.OnData(data); });
    }
    void OnEnd(const Status& status, const net::Headers& trailers) override {
      Pass([this, status, trailers] { sink_.OnEnd(status, trailers); });
    }
    void Pass(Task task) {
      gate_.Pass([watch = Liveness::Watch(liveness_), task = std::move(task)]() mutable {
        if (watch.alive()) task();
      });
    }

    Gate& gate_;
    net::HttpResponseSink& sink_;
    std::unique_ptr<net::HttpCall> call_;
    Liveness liveness_;
  };
  class Refused final : public net::HttpCall {
   public:
    Refused(Loop& loop, net::HttpResponseSink& sink)
        : timer_(loop.After(Duration::zero(),
                            [&sink] { sink.OnEnd(Unavailable("connection refused"), {}); })) {}

   private:
    Timer timer_;
  };

  std::string WithoutDropped(const std::string& body) const {
    Json object = *Json::Parse(body);
    Json devices = Json::Array{};
    for (Json device : object["spec"]["devices"].items()) {
      for (const std::string& field : dropped_) device.Erase(field);
      devices.Append(std::move(device));
    }
    object["spec"]["devices"] = std::move(devices);
    return object.Dump();
  }

  Loop& loop_;
  net::HttpClient& server_;
  Gate news_, reads_, answers_;
  std::set<std::string> dropped_;
  bool away_ = false;
  bool hangs_ = false;
  int writes_ = 0;
};

class FakeCluster {
 public:
  FakeCluster(FakeLoop& loop, Random& random)
      : loop_(loop),
        server_(std::move(*api_sim::ApiServer::Create(loop, random, NullLog(), {}))),
        local_(loop, *server_),
        wire_(loop, local_),
        client_(loop, wire_),
        own_client_(loop, local_) {}

  kube::Client& client() { return client_; }
  FakeWire& wire() { return wire_; }

  // Asks as somebody else, who is never cut off. Runs the loop's present tasks.
  StatusOr<Json> Do(net::HttpRequest request) {
    StatusOr<Json> answer = Unavailable("no answer");
    const auto call =
        own_client_.Do(std::move(request), [&](auto json) { answer = std::move(json); });
    loop_.RunUntilIdle();
    return answer;
  }

  void AddNode(const std::string& name) {
    const Json node = Json::MakeObject(
        {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", Json::MakeObject({{"name", name}})}});
    GALEN_CHECK(Do(kube::Create(kube::kNodes, "", node)).ok());
  }

  std::vector<kube::ResourceSlice> Slices() {
    std::vector<kube::ResourceSlice> slices;
    const StatusOr<Json> list = Do(kube::List(kube::kResourceSlices, "", {}));
    for (const Json& item : (*list)["items"].items()) slices.push_back(*kube::DecodeSlice(item));
    return slices;
  }

 private:
  FakeLoop& loop_;
  std::unique_ptr<api_sim::ApiServer> server_;
  api_sim::LocalTransport local_;
  FakeWire wire_;
  kube::Client client_;
  kube::Client own_client_;
};

}  // namespace galen::sdk
