#include "tests/sim/sim_driver.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/check.h"

namespace galen::sim {
namespace {

constexpr std::string_view kChange = "the link is down, change ";

}  // namespace

SimDriver::SimDriver(Edges edges, std::string name, std::string node,
                     std::vector<std::string> devices, std::vector<std::string> kept_free)
    : edges_(edges),
      loop_(edges.loop),
      name_(std::move(name)),
      node_(std::move(node)),
      kept_free_(kept_free.begin(), kept_free.end()) {
  for (const std::string& device : devices) truth_[device] = HealthState::kHealthy;
  for (const std::string& device : kept_free_) truth_[device] = HealthState::kHealthy;
}

void SimDriver::Start() {
  loop_.Resume();
  Driver::Options options;
  options.name = name_;
  options.node = node_;
  options.kubelet_root = "/" + node_ + "/kubelet";
  options.cdi_root = "/" + node_ + "/cdi";
  options.health_timeout = kTimeout;
  // As the Pod of a DaemonSet, of which the next one has another uid.
  options.instance = "i" + std::to_string(instances_);
  sdk::DriverApp::Handlers handlers;
  handlers.prepare = [this](const DeviceClaim& claim) {
    for (const DeviceClaim::Held& held : claim.devices) set_up_[held.device] = claim.uid;
    return CdiEdits{.env = {"GALEN=1"}};
  };
  // As a driver that resets what it set up.
  handlers.unprepare = [this](const DeviceClaim& claim) {
    if (never_resets_) return std::nullopt;
    for (const DeviceClaim::Held& held : claim.devices) set_up_.erase(held.device);
    return std::nullopt;
  };
  handlers.health_period = std::chrono::seconds(1);
  handlers.health = [this](HealthWriter& health) { Report(health); };
  metrics_ = std::make_unique<Metrics>();
  auto app = sdk::DriverApp::Create(
      {loop_, NullLog(), *metrics_, edges_.random, edges_.files, edges_.sockets, edges_.api},
      options, std::move(handlers));
  // In a simulation nothing of this can be refused; if it is, the test is wrong.
  GALEN_CHECK(app.ok());
  app_ = std::move(app).value();
  Inventory inventory;
  for (const auto& [device, state] : truth_) {
    inventory.push_back({.name = device, .attributes = {{"serial", SerialOf(device)}}});
    if (!kept_free_.contains(device)) continue;
    inventory.back().taints.push_back(
        {.key = "example.com/kept-free", .effect = Taint::Effect::kNoSchedule});
  }
  GALEN_CHECK(app_->Publish(inventory).ok());
  GALEN_CHECK(app_->Start().ok());
}

void SimDriver::Kill() {
  leaving_.reset();
  app_.reset();
  loop_.Resume();
}

void SimDriver::HandOver() {
  leaving_ = std::move(app_);
  leaving_metrics_ = std::move(metrics_);
  ++instances_;
  Start();
  leaving_->Stop([this] { leaving_.reset(); });
}

void SimDriver::Break(const std::string& device, HealthState state) {
  ++events_;
  // A fault that is reported anew is the same one.
  if (truth_[device] != state) broke_at_[device] = events_;
  truth_[device] = state;
  turns_[device].push_back({edges_.loop.Now(), state});
  // By the loop: a driver that hangs does not see it before it goes on.
  loop_.Post([this] {
    if (app_) app_->HealthChanged();
    if (leaving_) leaving_->HealthChanged();
  });
}

bool SimDriver::WasEver(HealthState state, const std::string& device, Time from, Time to) const {
  HealthState before = HealthState::kHealthy;
  const auto turns = turns_.find(device);
  if (turns == turns_.end()) return before == state;
  for (const Turn& turn : turns->second) {
    if (turn.at >= to) break;
    // The state before held until this turn.
    if (before == state && turn.at > from) return true;
    before = turn.state;
  }
  return before == state;
}

std::set<std::string> SimDriver::Records() const {
  constexpr std::string_view kSuffix = ".json";
  std::set<std::string> uids;
  const auto files = edges_.files.List("/" + node_ + "/kubelet/plugins/" + name_ + "/claims");
  for (const std::string& file : files.ok() ? *files : std::vector<std::string>{}) {
    if (file.ends_with(kSuffix)) uids.insert(file.substr(0, file.size() - kSuffix.size()));
  }
  return uids;
}

std::optional<std::uint64_t> SimDriver::ChangeNamedIn(const std::string& message) {
  if (!message.starts_with(kChange)) return std::nullopt;
  return std::stoull(message.substr(kChange.size()));
}

void SimDriver::Report(HealthWriter& health) const {
  for (const auto& [device, state] : truth_) {
    // The hardware of the simulation is well or not; verdicts in between are the rule engine's
    // tests.
    if (state == HealthState::kUnhealthy) {
      const std::uint64_t change = broke_at_.at(device);
      const std::uint64_t named = numbers_back_ ? 1'000'000 - change : change;
      health.Unhealthy(device,
                       {.code = "LinkDown", .message = fmt::format("{}{}", kChange, named)});
    } else {
      health.Healthy(device);
    }
  }
}

}  // namespace galen::sim
