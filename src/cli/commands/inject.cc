#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/demo/simulated_driver.h"
#include "cli/inspect/agent_link.h"
#include "cli/output/table.h"
#include "model/health.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;
namespace simulator = galen::simulator::v1;

constexpr char kDriverAdvice[] = "is it running? --driver-socket names another";

// The limit for each driver of a search, most of which do not have the device; a healthy one takes
// milliseconds.
constexpr Duration kSearchWithin = std::chrono::seconds(1);

// A driver reports a change to its agent within milliseconds. A sign that changes nothing at once,
// such as a temperature that must last, is not waited for.
constexpr Duration kReportedWithin = std::chrono::milliseconds(250);
// The limit until Pods and the node's object show the change; the API server may be away.
constexpr Duration kPublishedWithin = std::chrono::seconds(2);
constexpr Duration kAskEvery = std::chrono::milliseconds(10);

// Names are DNS labels, as Kubernetes has them of devices and a rules file of signs. Another
// program's answer may contain anything; names that pass are printed and offered by a shell's
// completion.
void KeepNames(simulator::ListSignsResponse& answer) {
  auto& devices = *answer.mutable_devices();
  const auto bad_device = std::ranges::remove_if(devices, std::not_fn(IsDnsLabel));
  devices.erase(bad_device.begin(), bad_device.end());
  auto& signs = *answer.mutable_signs();
  const auto bad_sign = std::ranges::remove_if(
      signs, [](const simulator::Sign& sign) { return !IsDnsLabel(sign.name()); });
  signs.erase(bad_sign.begin(), bad_sign.end());
}

// The driver's simulated signs; nullopt when its hardware is real.
StatusOr<std::optional<simulator::ListSignsResponse>> SignsOf(
    AgentLink& driver, Duration within = AgentLink::kAnswerWithin) {
  auto answer = driver.Ask<simulator::ListSignsResponse>("/galen.simulator.v1.Simulator/ListSigns",
                                                         simulator::ListSignsRequest(), within);
  if (answer.status().code() == Code::kUnimplemented) {
    return std::optional<simulator::ListSignsResponse>();
  }
  if (!answer.ok()) return answer.status();
  KeepNames(*answer);
  return std::optional(std::move(answer).value());
}

SimulatedDriver DriverFromProto(const std::string& name, const std::string& socket,
                                const simulator::ListSignsResponse& answer) {
  SimulatedDriver driver{.name = name, .socket = socket, .devices = {}, .signs = {}};
  driver.devices.assign(answer.devices().begin(), answer.devices().end());
  for (const simulator::Sign& sign : answer.signs()) driver.signs.push_back(sign.name());
  return driver;
}

// Searches for the driver of the device. Belongs to the command's loop.
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
    if (signs) return DriverFromProto("the driver", socket, *signs);
    return FailedPrecondition("the driver at {} simulates nothing: signs come from its hardware",
                              socket);
  }

  StatusOr<SimulatedDriver> FindByAgent() {
    auto opened = AgentLink::OpenAgent(loop_, dialer_, options_.agent_socket);
    if (!opened.ok()) {
      return Status(opened.status().code(),
                    opened.status().message() + "; --driver-socket leads to a driver itself");
    }
    const auto agent = std::move(opened).value();
    ASSIGN_OR_RETURN(const auto answer,
                     agent->Ask<wire::ListDriversResponse>("/galen.inspect.v1.Inspect/ListDrivers",
                                                           wire::ListDriversRequest()));
    ASSIGN_OR_RETURN(const std::vector<SimulatedDriver> found, AskEach(answer));
    ASSIGN_OR_RETURN(const std::vector<SilentDevice> silent, SilentDevices(*agent, found));
    const bool known = std::any_of(silent.begin(), silent.end(),
                                   [](const SilentDevice& device) { return !device.why.empty(); });
    if (!arguments_.driver.empty() && found.empty() && !known) return NamedInVain(answer);
    return ChooseDriver(found, arguments_.device, silent);
  }

  // The agent's drivers that simulate. One that does not answer is put into mute_: most often it is
  // not the right one, unless --driver names it.
  StatusOr<std::vector<SimulatedDriver>> AskEach(const wire::ListDriversResponse& answer) {
    const bool named = !arguments_.driver.empty();
    std::vector<SimulatedDriver> found;
    for (const wire::Driver& driver : answer.drivers()) {
      // A second instance, during an update, does not count: its signs are not published.
      if (!driver.authority()) continue;
      if (named && driver.name() != arguments_.driver) continue;
      const auto link = AgentLink::Open(loop_, dialer_, driver.endpoint());
      // The driver has just died; if it has the device, the agent reports that.
      if (!link.ok()) continue;
      const auto signs = SignsOf(**link, named ? AgentLink::kAnswerWithin : kSearchWithin);
      if (!signs.ok()) {
        const Status mute =
            Annotate(signs.status(), "driver {} does not say what it simulates", driver.name());
        if (named) return mute;
        mute_[driver.name()] = mute.message();
      } else if (*signs) {
        found.push_back(DriverFromProto(driver.name(), driver.endpoint(), **signs));
      }
    }
    return found;
  }

  // The error when the driver that --driver names does not exist or is no simulator.
  Status NamedInVain(const wire::ListDriversResponse& answer) const {
    std::vector<std::string> names;
    for (const wire::Driver& driver : answer.drivers()) {
      if (driver.name() == arguments_.driver) {
        return FailedPrecondition("driver {} simulates nothing: signs come from its hardware",
                                  arguments_.driver);
      }
      names.push_back(driver.name());
    }
    if (names.empty()) names.emplace_back("none");
    return InvalidArgument("the agent knows no driver {}; it knows {}", arguments_.driver,
                           fmt::join(names, ", "));
  }

  // The agent's devices whose driver is not among `found`.
  StatusOr<std::vector<SilentDevice>> SilentDevices(AgentLink& agent,
                                                    const std::vector<SimulatedDriver>& found) {
    ASSIGN_OR_RETURN(const auto answer,
                     agent.Ask<wire::ListDevicesResponse>("/galen.inspect.v1.Inspect/ListDevices",
                                                          wire::ListDevicesRequest()));
    std::vector<SilentDevice> silent;
    for (const wire::Device& device : answer.devices()) {
      if (!arguments_.driver.empty() && device.driver() != arguments_.driver) continue;
      const bool answers = std::any_of(found.begin(), found.end(), [&](const auto& driver) {
        return driver.name == device.driver();
      });
      if (answers) continue;
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
  std::map<std::string, std::string> mute_;  // by driver: why it did not answer
};

StatusOr<wire::GetStatusResponse> AgentStatus(AgentLink& agent, Duration within) {
  return agent.Ask<wire::GetStatusResponse>("/galen.inspect.v1.Inspect/GetStatus",
                                            wire::GetStatusRequest(), within);
}

void Pause(EpollLoop& loop, Duration d) {
  const Timer end = loop.After(d, [&loop] { loop.Stop(); });
  loop.Run();
}

// Returns once the agent has published the change, so that the cluster shows it too; or, silently,
// when that does not happen in time: the sign is injected all the same. `changes` is the agent's
// count from before.
void AwaitPublished(EpollLoop& loop, AgentLink& agent, std::uint64_t changes) {
  const Time begin = loop.Now();
  while (true) {
    // An agent that hangs is not waited for any longer.
    const Duration left = kPublishedWithin - (loop.Now() - begin);
    if (left <= Duration::zero()) return;
    const auto status = AgentStatus(agent, left);
    if (!status.ok()) return;
    const bool reported = status->changes() != changes;
    if (reported ? status->all_published() : loop.Now() - begin >= kReportedWithin) return;
    Pause(loop, kAskEvery);
  }
}

std::string SignsTable(const simulator::ListSignsResponse& answer) {
  Table table({"SIGN", "UNIT", "USUAL", "MEANING"});
  for (const simulator::Sign& sign : answer.signs()) {
    table.Add({sign.name(), sign.unit(), sign.usual(), sign.help()});
  }
  std::string devices;
  for (const std::string& device : answer.devices()) devices += " " + device;
  return table.Text(false) +
         "\nreset=host, or reset alone, ends all that was injected; reset=gpu leaves what needs a "
         "reboot.\nDevices:" +
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
        "name the sign to inject into {}: name=value, for example xid=79, or reset; "
        "`galen inject` lists them",
        arguments.device);
  }
  SignArgument sign;
  // Before anything is dialled: a misspelt sign is refused without a driver.
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
  // With --driver-socket there may be no agent.
  std::unique_ptr<AgentLink> agent;
  StatusOr<wire::GetStatusResponse> before = Unavailable("nobody is asked");
  if (arguments.driver_socket.empty()) {
    ASSIGN_OR_RETURN(agent, AgentLink::OpenAgent(*loop, *dialer, options.agent_socket));
    // An agent that does not answer at once is not waited for afterwards.
    before = AgentStatus(*agent, kReportedWithin);
  }
  simulator::InjectRequest request;
  request.set_device(arguments.device);
  request.set_sign(sign.name);
  request.set_value(sign.value);
  ASSIGN_OR_RETURN(const auto answer, link->Ask<simulator::InjectResponse>(
                                          "/galen.simulator.v1.Simulator/Inject", request));
  if (before.ok()) AwaitPublished(*loop, *agent, before->changes());
  const WallTime when{std::chrono::nanoseconds(answer.injected_unix_nanos())};
  return fmt::format("{}: {} at {}\n", arguments.device, arguments.sign, FormatRfc3339(when, 3));
}

}  // namespace galen::cli
