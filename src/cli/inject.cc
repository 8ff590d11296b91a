#include "cli/inject.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/agent_link.h"
#include "cli/simulated_driver.h"
#include "cli/table.h"
#include "model/health.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"

namespace galen::cli {
namespace {

namespace inspect = galen::inspect::v1;
namespace simulator = galen::simulator::v1;

constexpr char kDriverAdvice[] = "is it running? --driver-socket names another";

// For each driver of a search, of which most are not meant; one that is well takes milliseconds.
constexpr Duration kSearchWithin = std::chrono::seconds(1);

// What a driver tells of its simulator; nullopt when it has none, for its hardware is real.
StatusOr<std::optional<simulator::ListSignsResponse>> SignsOf(
    AgentLink& driver, Duration within = AgentLink::kAnswerWithin) {
  auto answer = driver.Ask<simulator::ListSignsResponse>("/galen.simulator.v1.Simulator/ListSigns",
                                                         simulator::ListSignsRequest(), within);
  if (answer.status().code() == Code::kUnimplemented) {
    return std::optional<simulator::ListSignsResponse>();
  }
  if (!answer.ok()) return answer.status();
  return std::optional(std::move(answer).value());
}

SimulatedDriver FromProto(const std::string& name, const std::string& socket,
                          const simulator::ListSignsResponse& answer) {
  SimulatedDriver driver{.name = name, .socket = socket, .devices = {}, .signs = {}};
  driver.devices.assign(answer.devices().begin(), answer.devices().end());
  for (const simulator::Sign& sign : answer.signs()) driver.signs.push_back(sign.name());
  return driver;
}

// Where to look for the driver that is meant. Belongs to the command's loop.
class DriverSearch {
 public:
  DriverSearch(EpollLoop& loop, net::Dialer& dialer, const Options& options,
               const InjectArguments& arguments)
      : loop_(loop), dialer_(dialer), options_(options), arguments_(arguments) {}

  StatusOr<SimulatedDriver> Find() {
    return arguments_.driver_socket.empty() ? FindByAgent() : FindAtSocket();
  }

 private:
  StatusOr<SimulatedDriver> FindAtSocket() {
    const std::string& socket = arguments_.driver_socket;
    const auto link = AgentLink::Open(loop_, dialer_, socket);
    if (!link.ok()) return Advise(link.status(), "driver", socket, kDriverAdvice);
    ASSIGN_OR_RETURN(const auto signs, SignsOf(**link));
    if (signs) return FromProto("the driver", socket, *signs);
    return FailedPrecondition("the driver at {} simulates nothing: signs come from its hardware",
                              socket);
  }

  StatusOr<SimulatedDriver> FindByAgent() {
    ASSIGN_OR_RETURN(const auto agent, AgentLink::OpenAgent(loop_, dialer_, options_.agent_socket));
    ASSIGN_OR_RETURN(const auto answer,
                     agent->Ask<inspect::ListDriversResponse>(
                         "/galen.inspect.v1.Inspect/ListDrivers", inspect::ListDriversRequest()));
    ASSIGN_OR_RETURN(const std::vector<SimulatedDriver> found, AskEach(answer));
    ASSIGN_OR_RETURN(const std::vector<SilentDevice> silent, SilentDevices(*agent, found));
    const bool known = std::any_of(silent.begin(), silent.end(),
                                   [](const SilentDevice& device) { return !device.why.empty(); });
    if (!arguments_.driver.empty() && found.empty() && !known) return NamedInVain(answer);
    return ChooseDriver(found, arguments_.device, silent);
  }

  // Those of the agent's drivers that simulate. One that cannot tell goes into mute_, for it is
  // most often not the one that is meant, unless --driver names it.
  StatusOr<std::vector<SimulatedDriver>> AskEach(const inspect::ListDriversResponse& answer) {
    const bool named = !arguments_.driver.empty();
    std::vector<SimulatedDriver> found;
    for (const inspect::Driver& driver : answer.drivers()) {
      // A second instance, during an update, has no say: what it shows nobody is told.
      if (!driver.authority()) continue;
      if (named && driver.name() != arguments_.driver) continue;
      const auto link = AgentLink::Open(loop_, dialer_, driver.endpoint());
      // One that just died; if its devices are asked for, the agent says so.
      if (!link.ok()) continue;
      const auto signs = SignsOf(**link, named ? AgentLink::kAnswerWithin : kSearchWithin);
      if (!signs.ok()) {
        const Status mute =
            Annotate(signs.status(), "driver {} does not say what it simulates", driver.name());
        if (named) return mute;
        mute_[driver.name()] = mute.message();
      } else if (*signs) {
        found.push_back(FromProto(driver.name(), driver.endpoint(), **signs));
      }
    }
    return found;
  }

  // The driver that --driver names is not there, or is no simulator.
  Status NamedInVain(const inspect::ListDriversResponse& answer) const {
    std::vector<std::string> names;
    for (const inspect::Driver& driver : answer.drivers()) {
      if (driver.name() == arguments_.driver) {
        return FailedPrecondition("driver {} simulates nothing: signs come from its hardware",
                                  arguments_.driver);
      }
      names.push_back(driver.name());
    }
    if (names.empty()) names.emplace_back("none");
    return NotFound("the agent knows no driver {}; it knows {}", arguments_.driver,
                    fmt::join(names, ", "));
  }

  // What the agent knows of devices whose driver is not among `found`.
  StatusOr<std::vector<SilentDevice>> SilentDevices(AgentLink& agent,
                                                    const std::vector<SimulatedDriver>& found) {
    ASSIGN_OR_RETURN(const auto answer,
                     agent.Ask<inspect::ListDevicesResponse>(
                         "/galen.inspect.v1.Inspect/ListDevices", inspect::ListDevicesRequest()));
    std::vector<SilentDevice> silent;
    for (const inspect::Device& device : answer.devices()) {
      if (!arguments_.driver.empty() && device.driver() != arguments_.driver) continue;
      const bool speaks = std::any_of(found.begin(), found.end(), [&](const auto& driver) {
        return driver.name == device.driver();
      });
      if (speaks) continue;
      SilentDevice& last = silent.emplace_back(SilentDevice{device.driver(), device.device(), ""});
      if (device.cause().code() == cause_code::kDriverGone) {
        last.why = device.cause().message();
      } else if (const auto mute = mute_.find(device.driver()); mute != mute_.end()) {
        last.why = mute->second;
        last.advice = "look at its log";
      }
    }
    return silent;
  }

  EpollLoop& loop_;
  net::Dialer& dialer_;
  const Options& options_;
  const InjectArguments& arguments_;
  std::map<std::string, std::string> mute_;  // by driver, why it does not say what it simulates
};

std::string SignsTable(const simulator::ListSignsResponse& answer) {
  Table table({"SIGN", "UNIT", "USUAL", "MEANING"});
  for (const simulator::Sign& sign : answer.signs()) {
    table.Add({sign.name(), sign.unit(), sign.usual(), sign.help()});
  }
  std::string devices;
  for (const std::string& device : answer.devices()) devices += " " + device;
  return table.Text(false) +
         "\n`reset` alone is reset=host: either ends everything that was injected.\nDevices:" +
         devices + "\n";
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
  const bool lists = arguments.device.empty();
  if (!lists && arguments.sign.empty()) {
    return InvalidArgument(
        "which sign shall {} show? write name=value, for example xid=79, or reset; "
        "`galen inject` lists them",
        arguments.device);
  }
  SignArgument sign;
  // Before anything is dialled: a misspelt sign needs no driver to be told.
  if (!lists) {
    ASSIGN_OR_RETURN(sign, ParseSign(arguments.sign));
  }
  ASSIGN_OR_RETURN(auto loop, EpollLoop::Create());
  const auto dialer = net::MakeDialer(*loop);
  ASSIGN_OR_RETURN(const SimulatedDriver driver,
                   DriverSearch(*loop, *dialer, options, arguments).Find());
  ASSIGN_OR_RETURN(auto link, AgentLink::Open(*loop, *dialer, driver.socket));
  if (lists) {
    ASSIGN_OR_RETURN(const auto signs, SignsOf(*link));
    return SignsTable(signs.value_or(simulator::ListSignsResponse()));
  }
  RETURN_IF_ERROR(CheckSign(driver, sign.name));
  simulator::InjectRequest request;
  request.set_device(arguments.device);
  request.set_sign(sign.name);
  request.set_value(sign.value);
  ASSIGN_OR_RETURN(const auto answer, link->Ask<simulator::InjectResponse>(
                                          "/galen.simulator.v1.Simulator/Inject", request));
  const WallTime when{std::chrono::nanoseconds(answer.injected_unix_nanos())};
  return fmt::format("{}: {} at {}\n", arguments.device, arguments.sign, FormatRfc3339(when, 3));
}

}  // namespace galen::cli
