#include "tests/sim/sim_node.h"

#include "base/check.h"

namespace galen::sim {
namespace {

// Credentials of the simulated cluster are none, so nobody runs a plugin.
class NoExec final : public kube::ExecRunner {
 public:
  void Run(const kube::ExecPlugin&, std::function<void(StatusOr<std::string>)> done) override {
    done(Unimplemented("no credential plugins in a simulation"));
  }
};

}  // namespace

SimNode::SimNode(Loop& loop, Random& random, net::FakeNetwork& network, std::string name,
                 agent::Role role)
    : loop_(loop),
      random_(random),
      name_(std::move(name)),
      role_(role),
      sockets_(loop, network),
      api_dialer_(network.MakeDialer(api_weather)),
      driver_dialer_(network.MakeDialer(driver_weather)),
      exec_(std::make_unique<NoExec>()),
      driver_transport_(MakeTransport(*api_dialer_)),
      driver_api_(std::make_unique<kube::Client>(loop, *driver_transport_)) {
  const std::string registry = "/" + name_ + "/kubelet/plugins_registry/";
  // The fake directory watch: a socket that appears in the registry is a driver to be found there.
  sockets_.OnChange([this, registry](const std::string& path, bool there) {
    if (!path.starts_with(registry)) return;
    there ? registry_.Put(path) : registry_.Remove(path);
  });
  const SimDriver::Edges edges{loop, random, driver_files_, sockets_, *driver_api_};
  drivers_.push_back(
      std::make_unique<SimDriver>(edges, "gpu.example.com", name_,
                                  std::vector<std::string>{"gpu-0", "gpu-1", "gpu-2", "gpu-3"}));
  drivers_.push_back(std::make_unique<SimDriver>(edges, "nic.example.com", name_,
                                                 std::vector<std::string>{"nic-0", "nic-1"}));
}

void SimNode::StartAgent() {
  // A new process counts from nothing and dials anew.
  metrics_ = std::make_unique<Metrics>();
  agent_transport_ = MakeTransport(*api_dialer_);
  agent::AgentConfig config;
  config.node = name_;
  config.role = role_;
  config.kubelet_root = "/" + name_ + "/kubelet";
  config.state_dir = "/" + name_ + "/galen";
  auto app = agent::AgentApp::Create({loop_, NullLog(), *metrics_, random_, agent_files_,
                                      *driver_dialer_, *agent_transport_, registry_},
                                     config, "sim");
  GALEN_CHECK(app.ok());
  agent_ = std::move(app).value();
  agent_->Start();
}

void SimNode::KillAgent(bool power_cut) {
  registry_.GoDeaf();  // its watch dies with it
  agent_.reset();
  agent_transport_.reset();
  if (power_cut) agent_files_.Crash(random_.Below(64));
}

SimDriver& SimNode::driver(const std::string& name) {
  for (const auto& driver : drivers_) {
    if (driver->name() == name) return *driver;
  }
  GALEN_UNREACHABLE();
}

bool SimNode::undisturbed() const {
  const auto fair = [](const net::LinkWeather& weather) {
    return !weather.down && !weather.stalled && weather.call_failure == 0;
  };
  return agent_ != nullptr && fair(api_weather) && fair(driver_weather);
}

std::unique_ptr<kube::Transport> SimNode::MakeTransport(net::Dialer& dialer) {
  kube::ClusterConfig config;
  config.server = "http://api:80";
  auto transport =
      kube::Transport::Create(loop_, NullLog(), dialer, agent_files_, *exec_, std::move(config));
  GALEN_CHECK(transport.ok());
  return std::move(transport).value();
}

}  // namespace galen::sim
