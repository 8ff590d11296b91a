#include "sdk/plugin/plugin_service.h"

#include <utility>

#include "base/text.h"
#include "protos/deviceplugin/v1beta1/deviceplugin.pb.h"
#include "rpc/typed.h"

namespace galen::sdk {
namespace {

namespace device_api = ::v1beta1;

Status TooMany(int containers) {
  return InvalidArgument("{} containers in one request, at most {} are taken", containers,
                         PluginService::kContainersMax);
}

StatusOr<device_api::AllocateResponse> AllocateAll(const device_api::AllocateRequest& request,
                                                   const PluginService::Allocate& allocate) {
  if (request.container_requests_size() > PluginService::kContainersMax) {
    return TooMany(request.container_requests_size());
  }
  device_api::AllocateResponse response;
  for (const auto& container : request.container_requests()) {
    const std::vector<std::string> ids(container.devices_ids().begin(),
                                       container.devices_ids().end());
    ASSIGN_OR_RETURN(const std::vector<std::string> names, allocate(ids));
    auto& answer = *response.add_container_responses();
    for (const std::string& name : names) answer.add_cdi_devices()->set_name(name);
  }
  return response;
}

StatusOr<device_api::PreferredAllocationResponse> PreferAll(
    const device_api::PreferredAllocationRequest& request, const PluginDevices& devices) {
  if (request.container_requests_size() > PluginService::kContainersMax) {
    return TooMany(request.container_requests_size());
  }
  device_api::PreferredAllocationResponse response;
  for (const auto& container : request.container_requests()) {
    if (container.allocation_size() < 0) {
      return InvalidArgument("{} devices are asked for", container.allocation_size());
    }
    const auto& available = container.available_deviceids();
    const auto& must = container.must_include_deviceids();
    ASSIGN_OR_RETURN(
        const std::vector<std::string> chosen,
        PreferDevices(devices, {available.begin(), available.end()}, {must.begin(), must.end()},
                      static_cast<std::size_t>(container.allocation_size())));
    auto& answer = *response.add_container_responses();
    for (const std::string& id : chosen) answer.add_deviceids(id);
  }
  return response;
}

}  // namespace

PluginService::PluginService(Log& log, Metrics& metrics, Allocate allocate)
    : log_(log), metrics_(metrics), allocate_(std::move(allocate)) {
  metrics_.DeclareGauge("galen_driver_plugin_streams", "Open streams of the device plugin's list.");
  metrics_.DeclareGauge("galen_driver_plugin_devices",
                        "Devices that the device plugin offers, by the health that it gives them.");
  metrics_.DeclareCounter("galen_driver_plugin_allocations_total",
                          "Requests for devices of the device plugin, by result.");
}

void PluginService::Serve(rpc::Dispatcher& dispatcher) {
  const std::string service = "/v1beta1.DevicePlugin/";
  rpc::AddUnary<device_api::Empty, device_api::DevicePluginOptions>(
      dispatcher, service + "GetDevicePluginOptions",
      [](const device_api::Empty&, const rpc::Caller&, auto reply) {
        device_api::DevicePluginOptions options;
        options.set_pre_start_required(kPreStartRequired);
        options.set_get_preferred_allocation_available(kPreferenceKnown);
        reply(options);
      });
  // The request is empty, so it is not even decoded.
  dispatcher.AddStream(service + "ListAndWatch", [this](std::string_view, const rpc::Caller&,
                                                        std::unique_ptr<rpc::StreamWriter> writer) {
    Listen(std::move(writer));
  });
  rpc::AddUnary<device_api::PreferredAllocationRequest, device_api::PreferredAllocationResponse>(
      dispatcher, service + "GetPreferredAllocation",
      [this](const device_api::PreferredAllocationRequest& request, const rpc::Caller&,
             auto reply) { reply(PreferAll(request, devices_)); });
  rpc::AddUnary<device_api::AllocateRequest, device_api::AllocateResponse>(
      dispatcher, service + "Allocate",
      [this](const device_api::AllocateRequest& request, const rpc::Caller&, auto reply) {
        StatusOr<device_api::AllocateResponse> response = AllocateAll(request, allocate_);
        metrics_.Add("galen_driver_plugin_allocations_total",
                     {{"result", response.ok() ? "ok" : "error"}});
        if (!response.ok()) {
          log_.Warning("devices could not be given to a container",
                       {{"error", response.status().message()}});
        }
        reply(std::move(response));
      });
  rpc::AddUnary<device_api::PreStartContainerRequest, device_api::PreStartContainerResponse>(
      dispatcher, service + "PreStartContainer",
      [](const device_api::PreStartContainerRequest&, const rpc::Caller&, auto reply) {
        reply(device_api::PreStartContainerResponse());
      });
}

void PluginService::SetDevices(PluginDevices devices) {
  std::string list = EncodeList(devices);
  devices_ = std::move(devices);
  if (list_ == list) return;
  list_ = std::move(list);
  std::size_t healthy = 0;
  for (const auto& [id, device] : devices_) healthy += device.healthy ? 1 : 0;
  metrics_.Set("galen_driver_plugin_devices", {{"health", "Healthy"}},
               static_cast<double>(healthy));
  metrics_.Set("galen_driver_plugin_devices", {{"health", "Unhealthy"}},
               static_cast<double>(devices_.size() - healthy));
  // A closed stream may remove itself from the list during Send.
  for (auto it = streams_.begin(); it != streams_.end();) (*it++)->Send(*list_);
}

void PluginService::Listen(std::unique_ptr<rpc::StreamWriter> writer) {
  if (stopped_) return writer->Finish(Unavailable("the driver is stopping"));
  MakeRoom();
  const auto stream = streams_.emplace(streams_.end());
  *stream =
      std::make_unique<rpc::NewestStream>(std::move(writer), [this, stream] { OnGone(stream); });
  if (std::exchange(awaiting_kubelet_, false)) {
    const auto former = std::exchange(kubelet_, stream);
    if (former != streams_.end()) {
      (*former)->Finish(OkStatus());
      streams_.erase(former);
    }
  }
  CountStreams();
  if (list_) (*stream)->Send(*list_);
  if (kubelet_ == stream && on_kubelet_) on_kubelet_(true);
}

void PluginService::MakeRoom() {
  if (streams_.size() < kStreamsMax) return;
  const auto oldest = streams_.begin() == kubelet_ ? std::next(kubelet_) : streams_.begin();
  (*oldest)->Finish(ResourceExhausted("more than {} streams", kStreamsMax));
  streams_.erase(oldest);
}

void PluginService::OnGone(Streams::iterator stream) {
  const bool kubelets = stream == kubelet_;
  if (kubelets) kubelet_ = streams_.end();
  streams_.erase(stream);
  CountStreams();
  if (kubelets && on_kubelet_) on_kubelet_(false);
}

void PluginService::CountStreams() {
  metrics_.Set("galen_driver_plugin_streams", {}, static_cast<double>(streams_.size()));
}

void PluginService::Stop() {
  stopped_ = true;
  for (const auto& stream : streams_) stream->Finish(OkStatus());
  kubelet_ = streams_.end();
  streams_.clear();
  CountStreams();
}

}  // namespace galen::sdk
