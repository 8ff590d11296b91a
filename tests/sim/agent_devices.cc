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

}  // namespace

std::map<DeviceId, DeviceHealth> AskDevices(net::HttpHandler& inspect) {
  const WholeAnswer answer =
      AskAtOnce(inspect, {.method = "POST",
                          .path = "/galen.inspect.v1.Inspect/ListDevices",
                          .headers = {{"content-type", std::string(rpc::kContentType)}},
                          .body = rpc::Frame(wire::ListDevicesRequest().SerializeAsString())});
  rpc::FrameReader reader(rpc::FrameReader::Side::kClient, kAnswerBytesMax);
  reader.Add(answer.body);
  const auto message = reader.Next();
  GALEN_CHECK(message.ok() && message->has_value());
  const auto response = rpc::Decode<wire::ListDevicesResponse>(**message);
  GALEN_CHECK(response.ok());
  std::map<DeviceId, DeviceHealth> devices;
  for (const wire::Device& device : response->devices()) {
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

}  // namespace galen::sim
