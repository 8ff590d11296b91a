#include "agent/publish/node_publisher.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

constexpr std::string_view kHealthFieldManager = "galen-agent";

// Not as a controller, and without blocking the Node's deletion: the policies of deploy/ allow no
// other owner.
std::vector<kube::OwnerReference> OwnersOf(const std::string& node, const Json& object) {
  return {{.api_version = "v1",
           .kind = "Node",
           .name = node,
           .uid = object["metadata"]["uid"].AsString()}};
}

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

// A single change and its echo, at the beginning of the gathering only, are no storm.
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
  if (!owner_trouble_.empty()) stale_ = true;
  MarkDirty();
}

void NodePublisher::OnInitDone() {
  // A list proves that the kind exists, so the waiting check for it is not needed.
  if (kind_missing_) return Retry();
  if (!listed_) LookAfresh("");
}

// The watch also returns our own writes, which change nothing.
void NodePublisher::OnApplied(const Json& object) {
  listed_ = true;
  // Where the server gives the version of our last write, the whole need not be compared.
  const std::string& version = object["metadata"]["resourceVersion"].AsString();
  if (!version.empty() && version == version_) return;
  const StatusOr<kube::NodeDeviceHealth> seen = kube::DecodeNodeDeviceHealth(object);
  const auto is_ours = [&](const std::optional<kube::NodeDeviceHealth>& known) {
    return seen.ok() && known && kube::SaysTheSame(*known, *seen);
  };
  if (!is_ours(shown_) && !is_ours(sent_)) LookAfresh(version);
}

void NodePublisher::OnDeleted(const Json&) { LookAfresh(""); }

// The watched state may be older than the last write: the object is read before anything is done.
void NodePublisher::LookAfresh(const std::string& version) {
  if (!shown_ && !sent_) {
    // A read is planned, or is under way and may return an older state.
    seen_meanwhile_ = version;
    return;
  }
  stale_ = true;
  MarkDirty();
}

void NodePublisher::Reconcile(Done done) {
  // The watch starts with the first look: before it, there is no object to keep right.
  if (!std::exchange(watching_, true)) watcher_.Start();
  // `again_` marks it when the time has come; until then no mark makes a request.
  if (edges_.loop.Now() < refused_until_) return done(OkStatus());
  if (std::exchange(stale_, false)) shown_.reset();
  // First reads what the server has: conditions keep their times over a restart of the agent, and
  // an object that is right is not written.
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
  if (step == Step::kReadNode) return OnNode(reply, std::move(done));
  ++writes_;
  edges_.metrics.Add(metric::kApiWrites,
                     {{"kind", "NodeDeviceHealth"}, {"result", reply.ok() ? "ok" : "error"}});
  if (reply.ok()) {
    NoteWritten();
    version_ = (*reply)["metadata"]["resourceVersion"].AsString();
    if (step != Step::kApply) {
      if (!wanted_owners_.empty()) NoteOwner(OkStatus());
      // The main resource is right; the status is another write.
      return Apply(std::move(done));
    }
    shown_ = std::exchange(sent_, std::nullopt);
    shown_is_ours_ = true;
    return done(OkStatus());
  }
  const bool missing = reply.status().code() == Code::kNotFound;
  const bool owned = step != Step::kApply && !wanted_owners_.empty();
  if (owned && !missing && !IsRetryable(reply.status())) {
    return OnOwnerRefused(reply.status(), std::move(done));
  }
  // Somebody removed the object, or the kind: look again from the beginning.
  shown_.reset();
  if (missing && step != Step::kCreate) {
    return done(Unavailable("NodeDeviceHealth {} vanished", node_));
  }
  Refused(reply.status(), std::move(done));
}

// Refused by a policy of an older deploy/galen.yaml, or by an admission plugin that demands the
// right to delete an object before one may set its owner. Only the clean-up when the Node goes is
// lost.
void NodePublisher::OnOwnerRefused(const Status& status, Done done) {
  NoteOwner(status);
  wanted_owners_.clear();
  if (owners_) return Apply(std::move(done));
  Create(std::move(done));
}

void NodePublisher::NoteOwner(const Status& status) {
  const std::string why =
      status.ok() ? "" : fmt::format("it stays when the Node goes: {}", status.message());
  if (std::exchange(owner_trouble_, why) == why) return;
  if (why.empty()) {
    edges_.log.Info("NodeDeviceHealth belongs to its Node now", {{"name", node_}});
  } else {
    edges_.log.Warning("NodeDeviceHealth does not belong to its Node", {{"error", why}});
  }
}

void NodePublisher::NoteWritten() {
  if (!std::exchange(trouble_, "").empty())
    edges_.log.Info("NodeDeviceHealth is written again", {{"name", node_}});
  kind_missing_ = false;
  refusals_.Reset();
  absences_.Reset();
  nodeless_.Reset();
}

void NodePublisher::OnRead(const StatusOr<Json>& reply, Done done) {
  const bool missing = reply.status().code() == Code::kNotFound;
  if (!reply.ok() && !missing) return Refused(reply.status(), std::move(done));
  shown_ = kube::NodeDeviceHealth{};
  shown_is_ours_ = false;
  owners_.reset();
  if (!missing) {
    // An object that we cannot decode was written by somebody else; it is overwritten.
    if (const auto shown = kube::DecodeNodeDeviceHealth(*reply); shown.ok()) shown_ = *shown;
    const StatusOr<kube::Meta> meta = kube::DecodeMeta(*reply);
    owners_ = meta.ok() ? meta->owners : std::vector<kube::OwnerReference>{};
    const auto seen = std::exchange(seen_meanwhile_, std::nullopt);
    if (seen && *seen != (*reply)["metadata"]["resourceVersion"].AsString()) {
      LookAfresh(*seen);
      return done(OkStatus());
    }
  }
  Ask(Step::kReadNode, kube::Get(kube::kNodes, "", node_), std::move(done));
}

// Read at each look: an object that is owned by a deleted Node of the same name would be collected
// as soon as it is written.
void NodePublisher::OnNode(const StatusOr<Json>& reply, Done done) {
  wanted_owners_.clear();
  if (reply.ok()) {
    wanted_owners_ = OwnersOf(node_, *reply);
  } else if (IsRetryable(reply.status())) {
    return Refused(reply.status(), std::move(done));
  } else if (reply.status().code() != Code::kNotFound) {
    NoteOwner(reply.status());
  } else if (!owners_) {
    // An object for a Node that is gone would stay for ever.
    return Postpone(fmt::format("there is no Node {} that it could belong to", node_), nodeless_,
                    std::move(done));
  }
  if (!owners_) return Create(std::move(done));
  if (wanted_owners_.empty()) return Apply(std::move(done));
  if (*owners_ != wanted_owners_) return Own(std::move(done));
  NoteOwner(OkStatus());
  Apply(std::move(done));
}

// A status can only be applied to an object that exists.
void NodePublisher::Create(Done done) {
  Json meta = Json::MakeObject({{"name", node_}});
  if (!wanted_owners_.empty()) meta["ownerReferences"] = kube::EncodeOwners(wanted_owners_);
  const Json object = Json::MakeObject({{"apiVersion", kube::kNodeDeviceHealths.api_version()},
                                        {"kind", kube::kNodeDeviceHealths.kind},
                                        {"metadata", std::move(meta)}});
  Ask(Step::kCreate,
      kube::Patch(kube::kNodeDeviceHealths, "", node_, kube::PatchType::kApply, object,
                  {.field_manager = std::string(kHealthFieldManager), .force = true}),
      std::move(done));
}

// Writes the owners of the very object that was read (its uid), not of another with its name. The
// whole list is replaced: an owner that somebody added would keep the object when the Node goes.
void NodePublisher::Own(Done done) {
  Json meta = Json::MakeObject({{"ownerReferences", kube::EncodeOwners(wanted_owners_)}});
  if (!shown_->uid.empty()) meta["uid"] = shown_->uid;
  Ask(Step::kOwn,
      kube::Patch(kube::kNodeDeviceHealths, "", node_, kube::PatchType::kMerge,
                  Json::MakeObject({{"metadata", std::move(meta)}}),
                  {.field_manager = std::string(kHealthFieldManager)}),
      std::move(done));
}

void NodePublisher::Apply(Done done) {
  kube::NodeDeviceHealth wanted = build_(shown_->conditions);
  // If both come from build_, they need not be encoded to be compared.
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
  if (kind_missing_) {
    return Postpone(
        "the cluster has no NodeDeviceHealth kind: apply its CRD, "
        "deploy/crds/nodedevicehealths.yaml",
        absences_, std::move(done));
  }
  Postpone(std::string(status.message()), refusals_, std::move(done));
}

void NodePublisher::Postpone(const std::string& why, Backoff& backoff, Done done) {
  shown_.reset();
  if (std::exchange(trouble_, why) != why)
    edges_.log.Warning("NodeDeviceHealth is not written", {{"error", why}});
  refused_until_ = edges_.loop.Now() + backoff.Next(edges_.random);
  again_ = edges_.loop.At(refused_until_, [this] { MarkDirty(); });
  done(OkStatus());
}

}  // namespace galen::agent
