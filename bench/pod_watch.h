// Pods as a watcher of the API sees them: what each says of its device, and when that arrived.
// Belongs to its loop; stops the loop at each change, so that whoever waits looks again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/loop/epoll_loop.h"
#include "base/random.h"
#include "kube/informer.h"
#include "kube/objects/pod.h"

namespace galen::bench {

class PodWatch {
 public:
  // What one Pod says at the moment.
  struct Line {
    kube::ResourceHealth device;  // the first in its status; empty: none yet
    std::string annotation;
    std::string condition;  // its message
    std::string phase;
    WallTime seen{};  // when this line, and no other, was known
  };

  // Pods of namespace kNamespace. What is lent outlives this.
  PodWatch(EpollLoop& loop, kube::Client& client, Random& random);
  // Begins to follow the Pods; once. Watches repair themselves.
  void Start() { pods_.Start(); }

  // Hands over each state of a Pod's device as it arrives, until it is called with nothing. One at
  // a time.
  using DeviceListener = std::function<void(const std::string& pod, const kube::ResourceHealth&)>;
  void OnDevice(DeviceListener listener) { on_device_ = std::move(listener); }

  // By name; an empty line when there is no such Pod. Valid until the next change.
  const Line& Of(const std::string& pod) const;

 private:
  void OnChange(const ObjectKey& key, const kube::Pod* after);

  EpollLoop& loop_;
  std::map<std::string, Line> lines_;
  DeviceListener on_device_;
  kube::Informer<kube::Pod> pods_;
};

}  // namespace galen::bench
