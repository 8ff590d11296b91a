#include "agent/pod_publisher.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "agent/pod_patch.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// What is told later than this after its sign was not held up by publishing: the agent or the
// API server was away.
constexpr Duration kMeasuredMost = std::chrono::minutes(10);

bool IsFault(HealthState state) {
  return state == HealthState::kDegraded || state == HealthState::kUnhealthy;
}

// A refusal without the Pod that it names, so that many Pods refused alike have one reason.
std::string ReasonOf(const Status& status, const ObjectKey& pod) {
  std::string reason = status.message();
  for (const std::string& name : {pod.name, pod.ns}) {
    const std::string quoted = '"' + name + '"';
    for (std::size_t at; (at = reason.find(quoted)) != std::string::npos;) {
      reason.replace(at, quoted.size(), "it");
    }
  }
  return reason;
}

}  // namespace

PodPublisher::PodPublisher(Edges edges, Options options)
    : edges_(edges),
      options_(std::move(options)),
      queue_(
          edges.loop, edges.random,
          {.backoff = {.first = std::chrono::milliseconds(50), .most = std::chrono::seconds(30)}},
          [this](const ObjectKey& key, Done done) { Reconcile(key, std::move(done)); }) {}

void PodPublisher::Open() { open_ = true; }

void PodPublisher::MarkDirty(const ObjectKey& pod) {
  if (open_) queue_.MarkDirty(pod);
}

void PodPublisher::Expect(const ObjectKey& pod, const DeviceHealth& health) {
  records_[pod].expected.insert_or_assign(health.id, health);
}

void PodPublisher::Forget(const ObjectKey& pod) {
  records_.erase(pod);
  later_.erase(pod);
  NotRefused(pod);
}

std::string PodPublisher::trouble() const {
  if (refusals_.empty()) return "";
  const auto& [pod, refusal] = *refusals_.begin();
  const std::size_t more = refusals_.size() - 1;
  return fmt::format("{}: {}{}", ToString(pod), refusal.why,
                     more == 0 ? "" : fmt::format(", and {} Pods more", more));
}

void PodPublisher::Reconcile(const ObjectKey& key, Done done) {
  const kube::Pod* pod = edges_.view.FindPod(key);
  // Gone since it was marked; a refusal that came after Forget goes here.
  if (pod == nullptr) {
    NotRefused(key);
    return done(OkStatus());
  }
  // Not a failure of this Pod: its own backoff stays short for when the server is back.
  if (const Duration away = away_until_ - edges_.loop.Now(); away > Duration::zero()) {
    LookLater(key, away);
    return done(OkStatus());
  }
  const std::optional<WantedPodStatus> wanted = WantedOf(*pod);
  if (options_.manager) {
    // The informer's Pod answers most looks without a request; only what is to be written needs the
    // server's version of the lists.
    if (SaysAll(*pod, wanted, options_.runs(*pod))) return WriteOrRest(*pod, std::nullopt, done);
    return ReadThenWrite(*pod, std::move(done));
  }
  // What a Pod once said of devices it holds no more stays: it is how the Pod ended.
  if (!wanted) {
    NotRefused(key);
    return done(OkStatus());
  }
  WriteOrRest(*pod, FindingsPatch(*pod, *wanted, edges_.loop.WallNow()), std::move(done));
}

void PodPublisher::ReadThenWrite(const kube::Pod& pod, Done done) {
  const ObjectKey key = pod.meta.key;
  calls_[key] =
      edges_.client.Do(kube::Get(kube::kPods, key.ns, key.name),
                       [this, key, uid = pod.meta.uid, done](StatusOr<Json> object) {
                         calls_.erase(key);
                         NoteReply(object.status());
                         if (object.status().code() == Code::kNotFound) {
                           NotRefused(key);
                           return done(OkStatus());
                         }
                         if (!object.ok() && !IsRetryable(object.status())) {
                           Refused(key, "Pod cannot be read, asked again later", object.status());
                           return done(OkStatus());
                         }
                         if (!object.ok()) return done(object.status());
                         const StatusOr<kube::Pod> fresh = kube::DecodePod(*object);
                         // Another Pod has the name now; its own arrival marks it.
                         if (!fresh.ok() || fresh->meta.uid != uid) return done(OkStatus());
                         WriteOrRest(*fresh,
                                     WholePatch(*object, *fresh, WantedOf(*fresh),
                                                options_.runs(*fresh), edges_.loop.WallNow()),
                                     done);
                       });
}

void PodPublisher::WriteOrRest(const kube::Pod& pod, const std::optional<Json>& patch, Done done) {
  const auto it = records_.find(pod.meta.key);
  if (!patch) {
    NotRefused(pod.meta.key);
    // It says it already, perhaps written by an agent before this one: there is no delay to
    // measure.
    if (it != records_.end()) it->second.expected.clear();
    return done(OkStatus());
  }
  if (const Duration wait = TakeTurn(records_[pod.meta.key]); wait > Duration::zero()) {
    LookLater(pod.meta.key, wait);
    return done(OkStatus());
  }
  Write(pod, *patch, std::move(done));
}

void PodPublisher::Write(const kube::Pod& pod, const Json& patch, Done done) {
  ++writes_;
  calls_[pod.meta.key] = edges_.client.Do(
      kube::Patch(kube::kPods, pod.meta.key.ns, pod.meta.key.name, kube::PatchType::kStrategic,
                  patch, {.subresource = "status"}),
      [this, pod, written = records_[pod.meta.key].expected, done](const StatusOr<Json>& reply) {
        calls_.erase(pod.meta.key);
        Conclude(pod, written, reply.status(), done);
      });
}

void PodPublisher::Conclude(const kube::Pod& pod, const Findings& written, const Status& status,
                            Done done) {
  edges_.metrics.Add(metric::kApiWrites,
                     {{"kind", "Pod"}, {"result", status.ok() ? "ok" : "error"}});
  NoteReply(status);
  // The Pod may have gone while it was written; neither way is it refused any more.
  const bool gone = status.code() == Code::kNotFound;
  if (status.ok() || gone) NotRefused(pod.meta.key);
  if (gone) return done(OkStatus());
  if (!status.ok() && !IsRetryable(status)) {
    Refused(pod.meta.key, "Pod status refused, asked again later", status);
    return done(OkStatus());
  }
  // The queue looks again, later and later: at the Pod as it is then, not at this patch.
  if (!status.ok()) return done(status);
  const auto record = records_.find(pod.meta.key);
  for (const auto& [id, health] : written) {
    if (record != records_.end()) {
      auto& expected = record->second.expected;
      const auto it = expected.find(id);
      // What changed while the write was under way is still to be told.
      if (it != expected.end() && it->second == health) expected.erase(it);
    }
    const Duration after_sign = std::max(edges_.loop.WallNow() - health.since, Duration::zero());
    // A Pod that came after the sign was not waiting to be told of it.
    const bool witnessed = !pod.meta.created || health.since >= *pod.meta.created;
    if (witnessed && after_sign <= kMeasuredMost) {
      edges_.metrics.Observe(metric::kPublishSeconds, {},
                             std::chrono::duration<double>(after_sign).count());
    }
    options_.on_told(pod, health, after_sign);
  }
  done(OkStatus());
}

// A line for each reason: a right that was taken away refuses every Pod, again and again.
void PodPublisher::Refused(const ObjectKey& key, const std::string& what, const Status& status) {
  if (refusals_told_.First(ReasonOf(status, key))) {
    edges_.log.Error(what, {{"pod", ToString(key)}, {"error", status.message()}});
  }
  Refusal& refusal = refusals_[key];
  refusal.why = status.message();
  LookLater(key, refusal.backoff.Next(edges_.random));
}

void PodPublisher::NotRefused(const ObjectKey& key) {
  if (refusals_.erase(key) == 0 || !refusals_.empty()) return;
  refusals_told_ = {};
  edges_.log.Info("no Pod is refused any more");
}

std::optional<WantedPodStatus> PodPublisher::WantedOf(const kube::Pod& pod) {
  const std::vector<HeldDevice>& devices = edges_.index.DevicesOf(pod.meta.key);
  if (devices.empty()) return std::nullopt;
  Findings& said = records_[pod.meta.key].said;
  const bool ended = HasEnded(pod);
  for (const HeldDevice& held : devices) {
    DeviceHealth present = options_.health_of(held.device);
    const auto [it, first] = said.try_emplace(held.device, present);
    const bool worse = IsFault(present.state) && present.state > it->second.state;
    if (!first && (!ended || worse)) it->second = std::move(present);
  }
  return WantedStatusOf(
      devices, [&](const DeviceId& id) { return said.at(id); }, options_.degraded);
}

Duration PodPublisher::TakeTurn(Record& record) {
  const Time now = edges_.loop.Now();
  // A token bucket: kBurst writes at once, then one each kRefill.
  const double earned =
      std::chrono::duration<double>(now - record.refilled) / std::chrono::duration<double>(kRefill);
  record.turns = std::min<double>(kBurst, record.turns + earned);
  record.refilled = now;
  if (record.turns < 1) {
    // Rounded up, or the look would come just before the turn is earned.
    return std::chrono::duration_cast<Duration>((1 - record.turns) *
                                                std::chrono::duration<double>(kRefill)) +
           std::chrono::milliseconds(1);
  }
  record.turns -= 1;
  return Duration::zero();
}

void PodPublisher::NoteReply(const Status& status) {
  // A conflict, like any refusal, is the word of a server that is there.
  const bool conflict = status.code() == Code::kAborted;
  if (!IsRetryable(status) || conflict) return outage_.Reset();
  // Of many calls that fail together the first counts.
  const Time now = edges_.loop.Now();
  if (now >= away_until_) away_until_ = now + outage_.Next(edges_.random);
}

void PodPublisher::LookLater(const ObjectKey& key, Duration delay) {
  later_[key] = edges_.loop.After(delay, [this, key] {
    later_.erase(key);
    MarkDirty(key);
  });
}

}  // namespace galen::agent
