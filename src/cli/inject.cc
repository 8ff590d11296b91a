#include "cli/inject.h"

#include "cli/agent_link.h"
#include "cli/table.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"

namespace galen::cli {
namespace {

namespace inspect = galen::inspect::v1;
namespace simulator = galen::simulator::v1;

// The socket of the driver to ask: as named, or the one that the agent knows.
StatusOr<std::string> FindDriverSocket(EpollLoop& loop, net::Dialer& dialer, const Options& options,
                                       const InjectArguments& arguments) {
  if (!arguments.driver_socket.empty()) return arguments.driver_socket;
  ASSIGN_OR_RETURN(auto agent, AgentLink::Open(loop, dialer, options.agent_socket));
  ASSIGN_OR_RETURN(const auto answer,
                   agent->Ask<inspect::ListDriversResponse>("/galen.inspect.v1.Inspect/ListDrivers",
                                                            inspect::ListDriversRequest()));
  std::string names, endpoint;
  for (const inspect::Driver& driver : answer.drivers()) {
    // A second instance, during an update, has no say: what it shows nobody is told.
    if (!driver.authority()) continue;
    names += (names.empty() ? "" : ", ") + driver.name();
    if (driver.name() == arguments.driver) return driver.endpoint();
    endpoint = driver.endpoint();
  }
  if (!arguments.driver.empty()) {
    return NotFound("the agent knows no driver {}; it knows: {}", arguments.driver, names);
  }
  if (names.empty()) return NotFound("the agent knows no driver; is galen-driver running?");
  if (names.find(',') != std::string::npos) {
    return InvalidArgument("several drivers are here ({}): choose one by --driver", names);
  }
  return endpoint;
}

StatusOr<std::string> ListSigns(AgentLink& driver) {
  ASSIGN_OR_RETURN(const auto answer,
                   driver.Ask<simulator::ListSignsResponse>(
                       "/galen.simulator.v1.Simulator/ListSigns", simulator::ListSignsRequest()));
  Table table({"SIGN", "UNIT", "USUAL", "MEANING"});
  for (const simulator::Sign& sign : answer.signs()) {
    table.Add({sign.name(), sign.unit(), sign.usual(), sign.help()});
  }
  std::string devices;
  for (const std::string& device : answer.devices()) devices += " " + device;
  return table.Text(false) + "\nDevices:" + devices + "\n";
}

}  // namespace

StatusOr<SignArgument> ParseSign(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (text == "reset") return SignArgument{"reset", ""};
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return InvalidArgument("'{}' is no sign: write name=value, for example xid=79, or reset", text);
  }
  return SignArgument{text.substr(0, equals), text.substr(equals + 1)};
}

StatusOr<std::string> Inject(const Options& options, const InjectArguments& arguments) {
  SignArgument sign;
  if (!arguments.device.empty()) {
    // Before anything is dialled: a misspelt sign needs no driver to be told.
    ASSIGN_OR_RETURN(sign, ParseSign(arguments.sign));
  }
  ASSIGN_OR_RETURN(auto loop, EpollLoop::Create());
  const auto dialer = net::MakeDialer(*loop);
  ASSIGN_OR_RETURN(const std::string socket, FindDriverSocket(*loop, *dialer, options, arguments));
  ASSIGN_OR_RETURN(auto driver, AgentLink::Open(*loop, *dialer, socket));
  if (arguments.device.empty()) return ListSigns(*driver);
  simulator::InjectRequest request;
  request.set_device(arguments.device);
  request.set_sign(sign.name);
  request.set_value(sign.value);
  const auto answer =
      driver->Ask<simulator::InjectResponse>("/galen.simulator.v1.Simulator/Inject", request);
  if (!answer.ok() && answer.status().code() == Code::kUnimplemented) {
    return FailedPrecondition("the driver at {} simulates nothing: signs come from its hardware",
                              socket);
  }
  if (!answer.ok()) return answer.status();
  const WallTime when{std::chrono::nanoseconds(answer->injected_unix_nanos())};
  return fmt::format("{}: {} at {}\n", arguments.device, arguments.sign, FormatRfc3339(when, 3));
}

}  // namespace galen::cli
