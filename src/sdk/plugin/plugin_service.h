// The service v1beta1.DevicePlugin for one resource: the list of devices as a stream, and what a
// container gets with its devices. Belongs to its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/status.h"
#include "rpc/newest_stream.h"
#include "rpc/service.h"
#include "sdk/plugin/plugin_devices.h"

namespace galen::sdk {

// Which of the devices that a kubelet may give to a container go well together. Pure. `size` of
// `available`, `must` among them and first: on as few NUMA nodes as possible, beginning with the
// nodes of `must`, and within a node below as few PCIe roots as possible. Of equal groups the one
// with the fewest free devices is taken, so that large groups stay whole; if none has enough, the
// one with the most. Devices without a known node come last; a node whose roots are not known
// counts as one root. The same arguments give the same answer. InvalidArgument when `size` cannot
// be met.
StatusOr<std::vector<std::string>> PreferDevices(const PluginDevices& devices,
                                                 const std::vector<std::string>& available,
                                                 const std::vector<std::string>& must,
                                                 std::size_t size);

// The same options in the registration and in GetDevicePluginOptions: no call before a container
// starts; preferred allocations are supported.
inline constexpr bool kPreStartRequired = false;
inline constexpr bool kPreferenceKnown = true;

// Each stream has one slot for the newest list: a slow reader misses lists in between, but never
// the last. The kubelet has one stream; other readers never end the kubelet's.
class PluginService {
 public:
  // The most streams; beyond it the oldest one that is not the kubelet's is ended.
  static constexpr std::size_t kStreamsMax = 16;
  // The most containers in one request.
  static constexpr int kContainersMax = 1024;

  // The CDI names for the devices of a container, or the reason why it cannot have them.
  using Allocate =
      std::function<StatusOr<std::vector<std::string>>(const std::vector<std::string>& ids)>;

  // The arguments outlive it.
  PluginService(Log& log, Metrics& metrics, Allocate allocate);

  // Adds the five methods. Before the socket listens; the dispatcher calls this for as long as it
  // serves.
  void Serve(rpc::Dispatcher& dispatcher);

  // Sets the list. Streams get it at once where it differs from the last; until the first call they
  // get nothing.
  void SetDevices(PluginDevices devices);
  // Whether the next stream is the kubelet's, because the plugin is registering now; the kubelet's
  // former stream is then ended.
  void AwaitKubelet(bool await) { awaiting_kubelet_ = await; }
  // Sets the callback that is called when the kubelet's stream has opened or closed.
  void OnKubelet(std::function<void(bool listens)> callback) { on_kubelet_ = std::move(callback); }
  // Ends every stream, so that the kubelet knows at once; new ones are refused.
  void Stop();

  bool kubelet_listens() const { return kubelet_ != streams_.end(); }
  std::size_t streams() const { return streams_.size(); }
  const PluginDevices& devices() const { return devices_; }

 private:
  using Streams = std::list<std::unique_ptr<rpc::NewestStream>>;

  void Listen(std::unique_ptr<rpc::StreamWriter> writer);
  void MakeRoom();
  void OnGone(Streams::iterator stream);
  void CountStreams();

  Log& log_;
  Metrics& metrics_;
  const Allocate allocate_;
  std::function<void(bool listens)> on_kubelet_;
  std::optional<std::string> list_;  // encoded
  PluginDevices devices_;
  Streams streams_;
  Streams::iterator kubelet_ = streams_.end();
  bool awaiting_kubelet_ = false;
  bool stopped_ = false;
};

}  // namespace galen::sdk
