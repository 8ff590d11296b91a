#include "sdk/app/simulator_service.h"

#include "protos/galen/simulator/v1/simulator.pb.h"
#include "rpc/typed.h"

namespace galen::sdk {

namespace simulator = galen::simulator::v1;

void ServeSimulator(rpc::Dispatcher& dispatcher, SimulatedDevices& devices) {
  rpc::AddUnary<simulator::InjectRequest, simulator::InjectResponse>(
      dispatcher, "/galen.simulator.v1.Simulator/Inject",
      [&devices](const simulator::InjectRequest& request, const rpc::Caller&,
                 const rpc::TypedReply<simulator::InjectResponse>& reply) {
        const StatusOr<WallTime> time =
            devices.Inject(request.device(), request.sign(), request.value());
        if (!time.ok()) return reply(time.status());
        simulator::InjectResponse response;
        response.set_injected_unix_nanos(time->time_since_epoch().count());
        reply(response);
      });
  rpc::AddUnary<simulator::ListSignsRequest, simulator::ListSignsResponse>(
      dispatcher, "/galen.simulator.v1.Simulator/ListSigns",
      [&devices](const simulator::ListSignsRequest&, const rpc::Caller&,
                 const rpc::TypedReply<simulator::ListSignsResponse>& reply) {
        simulator::ListSignsResponse response;
        for (const SimulatedDevices::Sign& sign : devices.InjectableSigns()) {
          simulator::Sign& listed = *response.add_signs();
          listed.set_name(sign.name);
          listed.set_unit(sign.unit);
          listed.set_help(sign.help);
          listed.set_usual(sign.usual);
        }
        for (const std::string& name : devices.Names()) response.add_devices(name);
        reply(response);
      });
}

}  // namespace galen::sdk
