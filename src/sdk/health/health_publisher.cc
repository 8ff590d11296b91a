#include "sdk/health/health_publisher.h"

#include <algorithm>
#include <utility>

#include "rpc/service.h"

namespace galen::sdk {
namespace {

// The packages of dra-health are just v1 and v1alpha1; newer kubelets take v1, those before 1.37
// know v1alpha1 only.
constexpr std::string_view kMethods[] = {"/v1.DRAResourceHealth/NodeWatchResources",
                                         "/v1alpha1.DRAResourceHealth/NodeWatchResources"};
// A driver may make up a new name each round; each name is logged once, up to this many.
constexpr std::size_t kStrangersLoggedMax = 32;

}  // namespace

HealthPublisher::HealthPublisher(Parts edges, Options options,
                                 std::function<void(HealthWriter&)> report)
    : edges_(edges), options_(std::move(options)), report_(std::move(report)) {
  edges_.metrics.DeclareCounter("galen_driver_health_reports_total",
                                "Snapshots of device health sent to all subscribers.");
  edges_.metrics.DeclareGauge("galen_driver_health_subscribers", "Open health streams.");
  edges_.metrics.DeclareGauge("galen_device_state", "1 for the state the device is in.");
}

void HealthPublisher::Serve(rpc::Dispatcher& dispatcher) {
  for (const std::string_view method : kMethods) {
    // The request is empty, so it is not even decoded.
    dispatcher.AddStream(std::string(method), [this](std::string_view, const rpc::Caller&,
                                                     std::unique_ptr<rpc::StreamWriter> writer) {
      Subscribe(std::move(writer));
    });
  }
}

void HealthPublisher::SetInventory(const Inventory& inventory) {
  devices_ = IdentitiesOf(options_.driver, options_.pool, inventory);
  if (options_.with_hardware_ids) ids_ = HardwareIdsOf(inventory);
  if (started_) Changed();
}

void HealthPublisher::Start() {
  started_ = true;
  AskAndPlan();
}

void HealthPublisher::Changed() {
  // Posted, so that `report` may call this without being called from within itself.
  if (!started_ || stopped_ || std::exchange(ask_posted_, true)) return;
  edges_.loop.Post([this, watch = Liveness::Watch(liveness_)] {
    if (!watch.alive()) return;
    ask_posted_ = false;
    Ask();
  });
}

void HealthPublisher::Stop() {
  stopped_ = true;
  ask_timer_.Cancel();
  resend_timer_.Cancel();
  // A proper end: the kubelet calls again later and logs nothing.
  for (const auto& subscriber : subscribers_) subscriber->Finish(OkStatus());
  subscribers_.clear();
  edges_.metrics.Set("galen_driver_health_subscribers", {}, 0);
}

void HealthPublisher::AskAndPlan() {
  Ask();
  // Counted from the answer, so that a slow probe is not called without pause.
  if (!stopped_) ask_timer_ = edges_.loop.After(options_.period, [this] { AskAndPlan(); });
}

void HealthPublisher::Ask() {
  if (stopped_) return;
  HealthRound round;
  report_(round);
  // From here on the probe counts as alive again.
  answered_ = edges_.loop.Now();
  silence_logged_ = false;
  LogStrangers(round);
  HealthSnapshot fresh =
      Judge(devices_, round, snapshot_, options_.snapshot, edges_.loop.WallNow());
  // Kept even when it is not sent: a new subscriber gets the newest.
  const HealthSnapshot before = std::exchange(snapshot_, std::move(fresh));
  CountStates(before);
  // Without a timer nothing was sent yet, or the last report was withheld: this one must be sent.
  if (!SaysTheSame(before, snapshot_) || !resend_timer_) Send();
  if (on_round_) on_round_();
}

// Each is logged once: a name that is not in the inventory is a mistake of the author's.
void HealthPublisher::LogStrangers(const HealthRound& round) {
  for (const auto& [name, word] : round.reports()) {
    if (strangers_logged_.size() >= kStrangersLoggedMax) return;
    const bool known = std::any_of(devices_.begin(), devices_.end(),
                                   [&](const auto& device) { return device.id.device == name; });
    if (known || !strangers_logged_.insert(name).second) continue;
    edges_.log.Warning("health was given for a device that is not in the inventory; it is left out",
                       {{"device", name}});
  }
}

void HealthPublisher::CountStates(const HealthSnapshot& before) {
  const auto labels = [](const DeviceFinding& finding) {
    const DeviceHealth& health = finding.health;
    return Metrics::Labels{{"driver", health.id.driver},
                           {"pool", health.id.pool},
                           {"device", health.id.device},
                           {"state", ToString(health.state)}};
  };
  for (const auto& [name, finding] : before) {
    const auto now = snapshot_.find(name);
    if (now != snapshot_.end() && now->second.health.state == finding.health.state) continue;
    edges_.metrics.Remove("galen_device_state", labels(finding));
  }
  for (const auto& [name, finding] : snapshot_) {
    const auto was = before.find(name);
    if (was != before.end() && was->second.health.state == finding.health.state) continue;
    edges_.metrics.Set("galen_device_state", labels(finding), 1);
  }
}

void HealthPublisher::Subscribe(std::unique_ptr<rpc::StreamWriter> writer) {
  if (stopped_) return writer->Finish(Unavailable("the driver is stopping"));
  // The oldest is dropped, since a forgotten subscriber is more likely old than new.
  if (subscribers_.size() >= kSubscribersMax) {
    subscribers_.front()->Finish(ResourceExhausted("more than {} subscribers", kSubscribersMax));
    subscribers_.pop_front();
  }
  const auto place = subscribers_.emplace(subscribers_.end());
  *place = std::make_unique<rpc::NewestStream>(std::move(writer), [this, place] {
    subscribers_.erase(place);
    edges_.metrics.Set("galen_driver_health_subscribers", {},
                       static_cast<double>(subscribers_.size()));
  });
  edges_.metrics.Set("galen_driver_health_subscribers", {},
                     static_cast<double>(subscribers_.size()));
  if (started_ && ProbeLives()) {
    // The whole snapshot, as the kubelet expects on a new stream.
    (*place)->Send(Encode(snapshot_, options_.snapshot, edges_.loop.WallNow(), ids_));
  } else {
    // A stale snapshot must not look fresh to a new subscriber, so the probe's next answer is sent.
    resend_timer_.Cancel();
  }
}

void HealthPublisher::Send() {
  // One report may be late or lost without a device becoming Unknown.
  const Duration rest = ShortestTimeout(snapshot_, options_.snapshot) / 2;
  resend_timer_ = edges_.loop.After(rest, [this] { OnResendDue(); });
  edges_.metrics.Add("galen_driver_health_reports_total", {});
  if (subscribers_.empty()) return;
  const std::string bytes = Encode(snapshot_, options_.snapshot, edges_.loop.WallNow(), ids_);
  // A closed subscriber may remove itself from the list during Send.
  for (auto it = subscribers_.begin(); it != subscribers_.end();) (*it++)->Send(bytes);
}

void HealthPublisher::OnResendDue() {
  if (ProbeLives()) return Send();
  // The probe's next answer is sent instead.
  resend_timer_.Cancel();
  if (std::exchange(silence_logged_, true)) return;
  edges_.log.Warning("the health probe does not answer; subscribers will see Unknown",
                     {{"driver", options_.driver}});
}

bool HealthPublisher::ProbeLives() const {
  return edges_.loop.Now() - answered_ <= kProbePeriodsMax * options_.period;
}

}  // namespace galen::sdk
