// A kubelet on a FakeNetwork that says which devices its Pods have, and misbehaves when asked to.
// For tests. Belongs to its loop; the arguments outlive it.
#pragma once

#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "net/fake_link.h"
#include "rpc/service.h"

namespace galen::agent {

// One container's devices: of a plugin, or of a claim where `claim` is set.
struct FakePodDevices {
  std::string pod;
  std::string resource;  // or the driver
  std::vector<std::string> devices;
  std::string claim = {};
  std::string container = "main";
  std::string ns = "default";
  std::string pool = "node-1";
  std::string share_id = {};
};

// A ListPodResourcesResponse, encoded.
std::string EncodePodResources(const std::vector<FakePodDevices>& devices);

class FakePodResources {
 public:
  FakePodResources(Loop& loop, net::FakeNetwork& network,
                   std::string socket = "/var/lib/kubelet/pod-resources/kubelet.sock");
  ~FakePodResources() { Stop(); }

  void Start() { network_.Listen("unix:" + socket_, dispatcher_); }
  void Stop() { network_.StopListening("unix:" + socket_); }

  // From now on.
  void Say(const std::vector<FakePodDevices>& devices) { answer_ = EncodePodResources(devices); }
  void SayBytes(std::string bytes) { answer_ = std::move(bytes); }
  void Hang(bool hang) { hang_ = hang; }
  // Answers what hangs with what was to be said when it was asked.
  void AnswerHanging();
  int times_asked() const { return times_asked_; }

 private:
  net::FakeNetwork& network_;
  const std::string socket_;
  rpc::Dispatcher dispatcher_;
  std::string answer_;
  bool hang_ = false;
  int times_asked_ = 0;
  std::vector<std::pair<rpc::Reply, std::string>> hanging_;
};

}  // namespace galen::agent
