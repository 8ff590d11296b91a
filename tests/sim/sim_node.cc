#include "tests/sim/sim_node.h"

#include <utility>

#include "base/check.h"
#include "base/files/fake_boot_id.h"
#include "history/store/store.h"

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

class SimNode::Outbox final : public net::HttpClient {
 public:
  explicit Outbox(SimNode& node) : node_(node) {}

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override {
    if (IsAgentWrite(request)) {
      if (const auto text = node_.agent_files_.Unrecorded(request)) node_.on_unrecorded_(*text);
    }
    return node_.agent_transport_->Send(std::move(request), sink);
  }

 private:
  SimNode& node_;
};

SimNode::SimNode(World world, std::string name, agent::Role role)
    : world_(world),
      loop_(world.loop),
      name_(std::move(name)),
      role_(role),
      gate_(world.loop, world.random, world.api),
      sockets_(loop_, world.network),
      api_dialer_(world.network.MakeDialer(api_weather)),
      driver_dialer_(world.network.MakeDialer(driver_weather)),
      exec_(std::make_unique<NoExec>()),
      driver_transport_(MakeTransport(*api_dialer_)),
      driver_api_(std::make_unique<kube::Client>(loop_, *driver_transport_)) {
  world.network.Listen("tcp:api-" + name_ + ":80", gate_);
  const std::string registry = "/" + name_ + "/kubelet/plugins_registry/";
  // The fake directory watch: a socket that appears in the registry is a driver to be found there.
  sockets_.OnChange([this, registry](const std::string& path, bool there) {
    if (!path.starts_with(registry)) return;
    there ? registry_.Put(path) : registry_.Remove(path);
  });
  FakeBoot(driver_files_, "boot-1");
  const SimDriver::Edges edges{loop_, world.random, driver_files_, sockets_, *driver_api_};
  drivers_.push_back(
      std::make_unique<SimDriver>(edges, "gpu.example.com", name_,
                                  std::vector<std::string>{"gpu-0", "gpu-1", "gpu-2", "gpu-3"}));
  // Two are for the PodGroup (SimWorld::PlaceGroup), which the simulated scheduler does not know.
  drivers_.push_back(std::make_unique<SimDriver>(edges, "nic.example.com", name_,
                                                 std::vector<std::string>{"nic-0", "nic-1"},
                                                 std::vector<std::string>{"nic-2", "nic-3"}));
}

SimNode::~SimNode() {
  KillAgent(false);
  world_.network.StopListening("tcp:api-" + name_ + ":80");
}

void SimNode::StartAgent() {
  GALEN_CHECK(agent_ == nullptr);
  if (mutant_ == AgentMutant::kForgetsItsJournal) Empty(StateDir() + "/journal");
  if (mutant_ == AgentMutant::kForgetsItsRecords) Empty(StateDir() + "/post-mortem");
  ReadJournal();
  ++starts_;
  started_at_ = world_.loop.WallNow();
  // A new process counts from nothing and dials anew.
  metrics_ = std::make_unique<Metrics>();
  agent_transport_ = MakeTransport(*api_dialer_);
  outbox_ = std::make_unique<Outbox>(*this);
  disk_queue_ = std::make_unique<FakeDiskQueue>();
  if (disk_hangs_) disk_queue_->Hang();
  StatusOr<std::unique_ptr<agent::AgentApp>> app = MakeAgent();
  // A disk that fails one sync refuses one start; the service manager tries again.
  if (!app.ok()) app = MakeAgent();
  GALEN_CHECK(app.ok());
  agent_ = std::move(app).value();
  agent_->Start();
  known_ = AskDevices(agent_->inspect());
}

void SimNode::Empty(const std::string& directory) {
  const auto files = agent_disk_.List(directory);
  for (const std::string& file : files.ok() ? *files : std::vector<std::string>{}) {
    const Status removed = agent_disk_.Remove(directory + "/" + file);
    GALEN_CHECK(removed.ok());
  }
}

void SimNode::UpgradeAgent(std::string version) {
  version_ = std::move(version);
  if (agent_ == nullptr) return;
  agent_->Stop(std::chrono::seconds(5), [this] {
    KillAgent(false);
    StartAgent();
  });
}

// Each start of an agent that reads no journal has a place of its own.
std::string SimNode::StateDir() const {
  const std::string place = "/" + name_ + "/galen";
  return mutant_ == AgentMutant::kReadsNoJournal ? place + std::to_string(starts_) : place;
}

// As the agent itself is about to do.
void SimNode::ReadJournal() {
  restored_.reset();
  auto store = history::Store::Open(agent_files_, {.directory = StateDir() + "/journal"});
  if (!store.ok()) return;
  restored_.emplace();
  for (const history::Record& record : (*store)->Since(0)) {
    if (record.change) restored_->changes[record.device].push_back(record.change->after);
  }
  restored_->latest = (*store)->Latest();
  for (const auto& [id, health] : restored_->latest) restored_->changes[id].push_back(health);
}

void SimNode::StopStranger() {
  if (stranger_) stranger_->Stop();
  stranger_.reset();
}

void SimNode::Suspend() {
  DisturbApi();
  loop_.Suspend();
  api_weather.stalled = true;
  driver_weather.stalled = true;
}

void SimNode::WakeUp() {
  DisturbApi();
  loop_.Resume();
  api_weather.stalled = false;
  driver_weather.stalled = false;
}

agent::FakePlugin& SimNode::StartStranger() {
  const std::string root = "/" + name_ + "/kubelet/";
  stranger_ = std::make_unique<agent::FakePlugin>(
      loop_, world_.network, registry_,
      agent::FakePlugin::Options{.driver = "odd.example.com",
                                 .pool = name_,
                                 .socket = root + "plugins_registry/odd.example.com-reg.sock",
                                 .endpoint = root + "plugins/odd.example.com/dra.sock"});
  stranger_->Start();
  return *stranger_;
}

void SimNode::BreakAgent(AgentMutant mutant) {
  for (const auto& driver : drivers_) {
    if (mutant == AgentMutant::kNeverResets) driver->NeverReset();
    if (mutant == AgentMutant::kTakesOldReports) driver->NumberBack();
  }
  if (mutant == AgentMutant::kRecordsLate) agent_files_.SyncLate(loop_);
  mutant_ = mutant;
  gate_.Break(mutant);
}

StatusOr<std::unique_ptr<agent::AgentApp>> SimNode::MakeAgent() {
  agent::AgentConfig config;
  config.node = name_;
  config.role = role_;
  config.kubelet_root = "/" + name_ + "/kubelet";
  config.state_dir = StateDir();
  return agent::AgentApp::Create(
      {loop_, NullLog(), *metrics_, world_.random, agent_files_, *driver_dialer_, *outbox_,
       registry_, nullptr, "", disk_queue_.get()},
      config, version_);
}

void SimNode::KillAgent(bool power_cut) {
  dying_.reset();
  registry_.GoDeaf();  // its watch dies with it
  agent_.reset();
  disk_queue_.reset();
  agent_transport_.reset();
  if (power_cut) {
    agent_disk_.CutPower(FakeDisk::Unsynced::kChance, world_.random);
  } else {
    agent_disk_.Restart();
  }
}

void SimNode::HangDisk() {
  disk_hangs_ = true;
  if (disk_queue_) disk_queue_->Hang();
}

void SimNode::LetDiskGoOn() {
  disk_hangs_ = false;
  if (disk_queue_) disk_queue_->GoOn();
}

void SimNode::KillAgentAtWrite(std::uint64_t operations, bool power_cut) {
  agent_disk_.StopAfter(operations, [this, power_cut] {
    dying_ = power_cut;
    // A machine that stops answers nothing; what the agent sends from here on is sent later in the
    // loop than it dies.
    if (disk_queue_) disk_queue_->Hang();
    loop_.Post([this] { EndDying(); });
  });
}

void SimNode::EndDying() {
  if (dying_) KillAgent(*dying_);
}

void SimNode::BringAgentBack() {
  EndDying();
  agent_disk_.Restart();
  if (agent_ == nullptr) StartAgent();
}

SimDriver& SimNode::driver(const std::string& name) {
  for (const auto& driver : drivers_) {
    if (driver->name() == name) return *driver;
  }
  GALEN_UNREACHABLE();
}

std::vector<RecordedDevice> SimNode::PostMortems(const ObjectKey& pod) {
  std::vector<RecordedDevice> devices = AskPostMortems(agent_->inspect(), pod);
  if (mutant_ != AgentMutant::kRecordsAnothers) return devices;
  for (RecordedDevice& recorded : devices) {
    if (recorded.device.device == "gpu-0") recorded.device.device = "gpu-3";
  }
  return devices;
}

std::set<std::string> SimNode::CdiDevices() {
  std::set<std::string> names;
  const std::string directory = "/" + name_ + "/cdi";
  const auto files = driver_files_.List(directory);
  if (!files.ok()) return names;
  for (const std::string& file : *files) {
    const auto text = driver_files_.Read(directory + "/" + file);
    GALEN_CHECK(text.ok());
    const auto spec = Json::Parse(*text);
    GALEN_CHECK(spec.ok());
    for (const Json& device : (*spec)["devices"].items()) names.insert(device["name"].AsString());
  }
  return names;
}

bool SimNode::undisturbed() const {
  const auto fair = [](const net::LinkWeather& weather) {
    return !weather.down && !weather.stalled && weather.call_failure == 0;
  };
  return agent_ != nullptr && fair(api_weather) && fair(driver_weather) && !gate_.doubtful() &&
         !sleeps();
}

std::unique_ptr<kube::Transport> SimNode::MakeTransport(net::Dialer& dialer) {
  kube::ClusterConfig config;
  config.server = "http://api-" + name_ + ":80";
  auto transport =
      kube::Transport::Create(loop_, NullLog(), dialer, agent_files_, *exec_, std::move(config));
  GALEN_CHECK(transport.ok());
  return std::move(transport).value();
}

}  // namespace galen::sim
