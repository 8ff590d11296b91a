#include "tests/sim/agent_devices.h"

#include "base/check.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/frame.h"
#include "rpc/typed.h"
#include "rpc/wire.h"
#include "tests/sim/whole_answer.h"

namespace galen::sim {
namespace {

namespace wire = galen::inspect::v1;

// Limit of one answer: a simulated node has six devices and a stranger's.
constexpr std::size_t kAnswerBytesMax = 1 << 20;

template <typename Response, typename Request>
Response Ask(net::HttpHandler& inspect, const std::string& method, const Request& request) {
  const WholeAnswer answer =
      AskAtOnce(inspect, {.method = "POST",
                          .path = "/galen.inspect.v1.Inspect/" + method,
                          .headers = {{"content-type", std::string(rpc::kContentType)}},
                          .body = rpc::Frame(request.SerializeAsString())});
  rpc::FrameReader reader(rpc::FrameReader::Side::kClient, kAnswerBytesMax);
  reader.Add(answer.body);
  const auto message = reader.Next();
  GALEN_CHECK(message.ok() && message->has_value());
  const auto response = rpc::Decode<Response>(**message);
  GALEN_CHECK(response.ok());
  return *response;
}

}  // namespace

std::map<DeviceId, DeviceHealth> AskDevices(net::HttpHandler& inspect) {
  const auto response =
      Ask<wire::ListDevicesResponse>(inspect, "ListDevices", wire::ListDevicesRequest());
  std::map<DeviceId, DeviceHealth> devices;
  for (const wire::Device& device : response.devices()) {
    const DeviceId id{device.driver(), device.pool(), device.device()};
    DeviceHealth& health = devices[id];
    health.id = id;
    const auto state = ParseHealthState(device.state());
    GALEN_CHECK(state);
    health.state = *state;
    health.share = device.share();
    health.cause.code = device.cause().code();
    health.since = WallTime(std::chrono::nanoseconds(device.since_unix_nanos()));
  }
  return devices;
}

std::vector<RecordedDevice> AskPostMortems(net::HttpHandler& inspect, const ObjectKey& pod) {
  wire::ListPostMortemsRequest request;
  request.set_namespace_(pod.ns);
  request.set_pod(pod.name);
  const auto response = Ask<wire::ListPostMortemsResponse>(inspect, "ListPostMortems", request);
  std::vector<RecordedDevice> devices;
  for (const wire::PostMortem& record : response.post_mortems()) {
    for (const wire::PostMortemDevice& device : record.devices()) {
      RecordedDevice recorded{
          record.uid(), record.number(), {device.driver(), device.pool(), device.device()}, false};
      for (const wire::Finding& finding : device.findings()) {
        if (finding.state() == ToString(HealthState::kUnhealthy)) recorded.fault = true;
      }
      devices.push_back(std::move(recorded));
    }
  }
  return devices;
}

}  // namespace galen::sim
