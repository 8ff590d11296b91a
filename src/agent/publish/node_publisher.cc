#include "agent/publish/node_publisher.h"

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

constexpr std::string_view kHealthFieldManager = "galen-agent";

}  // namespace

NodePublisher::NodePublisher(Edges edges, std::string node, Build build)
    : edges_(edges),
      node_(std::move(node)),
      build_(std::move(build)),
      queue_(
          edges.loop, edges.random,
          {.backoff = {.first = std::chrono::milliseconds(500), .most = std::chrono::minutes(1)}},
          [this](const std::string&, Done done) { Reconcile(std::move(done)); }),
      watcher_(edges.loop, edges.client, edges.random,
               {.resource = kube::kNodeDeviceHealths,
                .selectors = {.field = "metadata.name=" + node_},
                .refused = kRefusedAgain},
               *this) {}

void NodePublisher::MarkDirty() {
  marked_ = edges_.loop.Now();
  if (gather_pending_ || flushed_) return;
  gather_pending_ = true;
  if (marked_ >= calm_from_) gather_for_ = kGather;
  gather_ = edges_.loop.After(gather_for_, [this] {
    gather_pending_ = false;
    PlanNext();
    queue_.MarkDirty(node_);
  });
}

// What came at the beginning only, as one change and its echo do, is no storm.
void NodePublisher::PlanNext() {
  const Time now = edges_.loop.Now();
  const bool goes_on = now - marked_ < kGather / 2;
  gather_for_ = goes_on ? std::min(gather_for_ * 2, kGatherMost) : kGather;
  calm_from_ = now + gather_for_;
}

void NodePublisher::Flush() {
  flushed_ = true;
  gather_pending_ = false;
  gather_.Cancel();
  queue_.MarkDirty(node_);
}

void NodePublisher::Retry() {
  refusals_.Reset();
  refused_until_ = {};
  MarkDirty();
}

void NodePublisher::OnInitDone() {
  // A list shows that the kind is there, which the look for it need not wait to find out.
  if (kind_missing_) return Retry();
  if (!listed_) LookAfresh("");
}

// Our own writes come back here, too, and are no news.
void NodePublisher::OnApplied(const Json& object) {
  listed_ = true;
  // The whole need not be compared where the server says which write it was.
  const std::string& version = object["metadata"]["resourceVersion"].AsString();
  if (!version.empty() && version == version_) return;
  const StatusOr<kube::NodeDeviceHealth> seen = kube::DecodeNodeDeviceHealth(object);
  const auto is_ours = [&](const std::optional<kube::NodeDeviceHealth>& known) {
    return seen.ok() && known && kube::SaysTheSame(*known, *seen);
  };
  if (!is_ours(shown_) && !is_ours(sent_)) LookAfresh(version);
}

void NodePublisher::OnDeleted(const Json&) { LookAfresh(""); }

// What was seen may be older than what was written since: it is read before anything is done.
void NodePublisher::LookAfresh(const std::string& version) {
  if (!shown_ && !sent_) {
    // A look is still to come, or is under way and may show what was before this.
    seen_meanwhile_ = version;
    return;
  }
  stale_ = true;
  MarkDirty();
}

void NodePublisher::Reconcile(Done done) {
  // From the first look on: before, there is nothing that could be put right.
  if (!std::exchange(watching_, true)) watcher_.Start();
  // `again_` marks it when the time has come; until then no mark makes a request.
  if (edges_.loop.Now() < refused_until_) return done(OkStatus());
  if (std::exchange(stale_, false)) shown_.reset();
  // First what the server shows: conditions keep their times over a restart of the agent, and an
  // object that is right is not written.
  if (!shown_) return Look(kind_missing_ ? Step::kFindKind : Step::kRead, std::move(done));
  Apply(std::move(done));
}

// A 404 to one object does not show whether it or its kind is missing; one to a list does.
void NodePublisher::Look(Step step, Done done) {
  seen_meanwhile_.reset();
  net::HttpRequest request =
      step == Step::kRead
          ? kube::Get(kube::kNodeDeviceHealths, "", node_)
          : kube::List(kube::kNodeDeviceHealths, "",
                       {.selectors = {.field = "metadata.name=" + node_}, .limit = 1});
  Ask(step, std::move(request), std::move(done));
}

void NodePublisher::OnKind(const StatusOr<Json>& reply, Done done) {
  if (!reply.ok()) return Refused(reply.status(), std::move(done));
  kind_missing_ = false;
  Look(Step::kRead, std::move(done));
}

void NodePublisher::Ask(Step step, net::HttpRequest request, Done done) {
  call_ = edges_.client.Do(std::move(request), [this, step, done](const StatusOr<Json>& reply) {
    OnAnswer(step, reply, done);
  });
}

void NodePublisher::OnAnswer(Step step, const StatusOr<Json>& reply, Done done) {
  if (step == Step::kFindKind) return OnKind(reply, std::move(done));
  if (step == Step::kRead) return OnRead(reply, std::move(done));
  ++writes_;
  edges_.metrics.Add(metric::kApiWrites,
                     {{"kind", "NodeDeviceHealth"}, {"result", reply.ok() ? "ok" : "error"}});
  if (reply.ok()) {
    NoteWritten();
    version_ = (*reply)["metadata"]["resourceVersion"].AsString();
    // The main resource is there now; its status is another write.
    if (step == Step::kCreate) return Apply(std::move(done));
    shown_ = std::exchange(sent_, std::nullopt);
    shown_is_ours_ = true;
    return done(OkStatus());
  }
  // Somebody removed the object, or the kind: look again from the beginning.
  shown_.reset();
  const bool vanished = step == Step::kApply && reply.status().code() == Code::kNotFound;
  if (vanished) return done(Unavailable("NodeDeviceHealth {} vanished", node_));
  Refused(reply.status(), std::move(done));
}

void NodePublisher::NoteWritten() {
  if (!std::exchange(trouble_, "").empty()) {
    edges_.log.Info("NodeDeviceHealth is written again", {{"name", node_}});
  }
  kind_missing_ = false;
  refusals_.Reset();
  absences_.Reset();
}

void NodePublisher::OnRead(const StatusOr<Json>& reply, Done done) {
  if (reply.status().code() == Code::kNotFound) return Create(std::move(done));
  if (!reply.ok()) return Refused(reply.status(), std::move(done));
  const StatusOr<kube::NodeDeviceHealth> shown = kube::DecodeNodeDeviceHealth(*reply);
  // What we cannot read somebody else wrote; it is written over.
  shown_ = shown.ok() ? *shown : kube::NodeDeviceHealth{};
  shown_is_ours_ = false;
  const auto seen = std::exchange(seen_meanwhile_, std::nullopt);
  if (seen && *seen != (*reply)["metadata"]["resourceVersion"].AsString()) {
    LookAfresh(*seen);
    return done(OkStatus());
  }
  Apply(std::move(done));
}

// A status can only be applied to an object that exists.
void NodePublisher::Create(Done done) {
  shown_ = kube::NodeDeviceHealth{};
  shown_is_ours_ = false;
  const Json object = Json::MakeObject({{"apiVersion", kube::kNodeDeviceHealths.api_version()},
                                        {"kind", kube::kNodeDeviceHealths.kind},
                                        {"metadata", Json::MakeObject({{"name", node_}})}});
  Ask(Step::kCreate,
      kube::Patch(kube::kNodeDeviceHealths, "", node_, kube::PatchType::kApply, object,
                  {.field_manager = std::string(kHealthFieldManager), .force = true}),
      std::move(done));
}

void NodePublisher::Apply(Done done) {
  kube::NodeDeviceHealth wanted = build_(shown_->conditions);
  // Both of one maker need not be written out to be compared.
  const bool same = shown_is_ours_ ? *shown_ == wanted : kube::SaysTheSame(*shown_, wanted);
  if (same) return done(OkStatus());
  // The status is ours alone and is replaced as a whole. An apply patch would merge the devices
  // into the list as it was and keep its order, and then the first would not be the worst.
  const Json replace =
      Json::MakeObject({{"op", "add"},
                        {"path", "/status"},
                        {"value", kube::EncodeNodeDeviceHealth(wanted)["status"]}});
  sent_ = std::move(wanted);
  Ask(Step::kApply,
      kube::Patch(kube::kNodeDeviceHealths, "", node_, kube::PatchType::kJson,
                  Json(Json::Array{replace}),
                  {.subresource = "status", .field_manager = std::string(kHealthFieldManager)}),
      std::move(done));
}

void NodePublisher::Refused(const Status& status, Done done) {
  shown_.reset();
  if (IsRetryable(status)) return done(status);
  // An object that is missing is created, so a 404 that comes here is of the kind itself.
  kind_missing_ = status.code() == Code::kNotFound;
  const std::string why = kind_missing_
                              ? "the cluster has no NodeDeviceHealth kind: apply its CRD, "
                                "deploy/crds/nodedevicehealths.yaml"
                              : status.message();
  if (std::exchange(trouble_, why) != why) {
    edges_.log.Warning("NodeDeviceHealth is not written", {{"error", why}});
  }
  Backoff& backoff = kind_missing_ ? absences_ : refusals_;
  refused_until_ = edges_.loop.Now() + backoff.Next(edges_.random);
  again_ = edges_.loop.At(refused_until_, [this] { MarkDirty(); });
  done(OkStatus());
}

}  // namespace galen::agent
