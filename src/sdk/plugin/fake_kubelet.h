// A kubelet's device manager in memory: takes registrations on its socket, dials the plugin back
// within the call, reads its list. For tests. No test of its own: those of this sub-room lean on
// it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protos/deviceplugin/v1beta1/deviceplugin.pb.h"
#include "rpc/service.h"
#include "sdk/fake_node.h"

namespace galen::sdk {

// Reads a plugin's list on a connection of its own. Destroying it closes the connection.
class FakeListReader final : private rpc::StreamSink {
 public:
  FakeListReader(FakeNode& node, const std::string& socket) : caller_(node.Connect(socket)) {
    if (!caller_.connected()) return;
    call_ = caller_.channel().ServerStream("/v1beta1.DevicePlugin/ListAndWatch", "", *this);
  }

  // The lists that came, as "gpu-0 Healthy, gpu-1 Unhealthy".
  const std::vector<std::string>& lists() const { return lists_; }
  std::string last() const { return lists_.empty() ? "nothing" : lists_.back(); }
  const ::v1beta1::ListAndWatchResponse& response() const { return response_; }
  const std::optional<Status>& end() const { return end_; }

 private:
  void OnMessage(std::string_view message) override {
    response_ = *rpc::Decode<::v1beta1::ListAndWatchResponse>(message);
    std::string text;
    for (const ::v1beta1::Device& device : response_.devices()) {
      text += (text.empty() ? "" : ", ") + device.id() + " " + device.health();
    }
    lists_.push_back(std::move(text));
  }
  void OnEnd(const Status& status) override { end_ = status; }

  FakeCaller caller_;
  std::vector<std::string> lists_;
  ::v1beta1::ListAndWatchResponse response_;
  std::optional<Status> end_;
  std::unique_ptr<rpc::Call> call_;
};

class FakeKubelet {
 public:
  explicit FakeKubelet(FakeNode& node, std::string directory = "/k/device-plugins")
      : node_(node), directory_(std::move(directory)), methods_(node.loop) {
    rpc::AddUnary<::v1beta1::RegisterRequest, ::v1beta1::Empty>(
        methods_, "/v1beta1.Registration/Register",
        [this](const ::v1beta1::RegisterRequest& request, const rpc::Caller&, auto reply) {
          registrations_.push_back(request);
          if (hangs_) return kept_.push_back(std::move(reply));
          if (!refusal_.ok()) return reply(refusal_);
          reply(::v1beta1::Empty());
          // As the kubelet, on another thread of its own.
          if (reads_) node_.loop.Post([this, request] { Read(request.endpoint()); });
        });
  }

  // As a kubelet that starts: what is in the directory goes, then its socket comes.
  void Start() {
    for (const std::string& path : node_.sockets.sockets()) {
      if (path.starts_with(directory_ + "/")) node_.sockets.RemoveFile(path);
    }
    socket_ = *node_.sockets.Listen(directory_ + "/kubelet.sock", methods_);
  }
  // As one that is killed: its connections end, its file stays for the next one to remove.
  void Kill() {
    reader_.reset();
    node_.network.StopListening("unix:" + directory_ + "/kubelet.sock");
  }
  void Stop() {
    reader_.reset();
    socket_.reset();
  }
  // Reads the list no more.
  void LetGo() { reader_.reset(); }

  void Refuse(Status refusal) { refusal_ = std::move(refusal); }
  void Hang(bool hangs) { hangs_ = hangs; }
  void ReadNothing() { reads_ = false; }

  const std::vector<::v1beta1::RegisterRequest>& registrations() const { return registrations_; }
  std::string list() const { return reader_ ? reader_->last() : "no stream"; }
  const FakeListReader* reader() const { return reader_.get(); }

 private:
  void Read(const std::string& endpoint) {
    former_ = std::move(reader_);
    reader_ = std::make_unique<FakeListReader>(node_, directory_ + "/" + endpoint);
  }

  FakeNode& node_;
  const std::string directory_;
  rpc::Dispatcher methods_;
  std::unique_ptr<net::ListeningSocket> socket_;
  std::vector<::v1beta1::RegisterRequest> registrations_;
  std::vector<rpc::TypedReply<::v1beta1::Empty>> kept_;
  Status refusal_;
  bool hangs_ = false;
  bool reads_ = true;
  std::unique_ptr<FakeListReader> former_;  // a kubelet reads on where it was told twice
  std::unique_ptr<FakeListReader> reader_;
};

}  // namespace galen::sdk
