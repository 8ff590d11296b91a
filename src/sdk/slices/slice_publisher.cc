#include "sdk/slices/slice_publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace galen::sdk {
namespace {

// When the instance that wrote the slice started, in nanoseconds since 1970, as text.
constexpr std::string_view kPublisherAnnotation = "galen.dev/published-by";
// The pool is looked at as a whole, so the queue has one key.
constexpr char kPool[] = "pool";

kube::Watcher::Options WatchOwn(const SliceScope& scope) {
  kube::Watcher::Options options;
  options.resource = kube::kResourceSlices;
  options.selectors.field =
      fmt::format("spec.nodeName={},spec.driver={}", scope.node, scope.driver);
  return options;
}

WorkQueue<std::string>::Options QueueOptions() {
  WorkQueue<std::string>::Options options;
  options.backoff = {.first = std::chrono::milliseconds(250), .most = std::chrono::seconds(60)};
  // There is only one Round, which gets the answers.
  options.at_once_max = 1;
  return options;
}

// Versions of one resource are integers that grow, whatever their length (KEP-5504).
bool IsOlder(const PublishedSlice& a, const PublishedSlice& b) {
  const std::string &x = a.slice.resource_version, &y = b.slice.resource_version;
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

}  // namespace

// One look at the pool: what to do, how much of it is still under way, and the outcome.
struct SlicePublisher::Round {
  SlicePlan plan;
  Done done;
  std::size_t waiting = 0;
  bool outdated = false;  // the wanted slices changed after it was planned
  Status worst;
};

StatusOr<PublishedSlice> DecodePublishedSlice(const Json& object) {
  PublishedSlice published;
  ASSIGN_OR_RETURN(published.slice, kube::DecodeSlice(object));
  const std::string& text = object["metadata"]["annotations"][kPublisherAnnotation].AsString();
  std::from_chars(text.data(), text.data() + text.size(), published.publisher);
  // The next rank is one higher, but must not overflow, whatever value somebody has written there.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;
  published.publisher = std::clamp<std::int64_t>(published.publisher, 0, kMost);
  return published;
}

SlicePublisher::SlicePublisher(Edges edges, SliceScope scope, std::int64_t started,
                               std::function<bool()> another_runs)
    : edges_(edges),
      another_runs_(std::move(another_runs)),
      scope_(std::move(scope)),
      publisher_(started),
      informer_(std::make_unique<kube::Informer<PublishedSlice>>(
          edges_.loop, edges_.api, edges_.random, WatchOwn(scope_), DecodePublishedSlice)),
      queue_(edges_.loop, edges_.random, QueueOptions(),
             [this](const std::string&, Done done) { Reconcile(std::move(done)); }) {
  edges_.metrics.DeclareCounter("galen_driver_slice_writes_total",
                                "Writes of ResourceSlices, by result.");
}

SlicePublisher::~SlicePublisher() = default;

void SlicePublisher::Start() {
  informer_->AddListener(
      [this](const ObjectKey& key, const PublishedSlice* before, const PublishedSlice* after) {
        after == nullptr ? OnGone(key.name, before->slice.uid) : OnShown(key.name, *after);
        queue_.MarkDirty(kPool);
      });
  informer_->OnSynced([this] { queue_.MarkDirty(kPool); });
  informer_->OnWatchTrouble([this](const Status& status) { LogTrouble(status); });
  informer_->Start();
  started_ = true;
}

void SlicePublisher::OnShown(const std::string& name, const PublishedSlice& now) {
  // The watch has not caught up with our own write. Only for slices in ahead_: a restored etcd goes
  // back in its versions.
  if (ahead_.contains(name) && IsOlder(now, have_.at(name))) return;
  have_.insert_or_assign(name, now);
  ahead_.erase(name);
}

void SlicePublisher::OnGone(const std::string& name, const std::string& uid) {
  gone_.insert(uid);
  EraseIf(name, uid);
}

// Another slice of the name may have been made meanwhile.
void SlicePublisher::EraseIf(const std::string& name, const std::string& uid) {
  const auto it = have_.find(name);
  if (it == have_.end() || it->second.slice.uid != uid) return;
  have_.erase(it);
  ahead_.erase(name);
}

void SlicePublisher::SetInventory(const Inventory& inventory) {
  inventory_ = inventory;
  // Each change is tried in full: the feature gate may have been switched on meanwhile.
  if (WantOffered()) reduced_.clear();
  inventory_known_ = true;
  settled_ = false;
  if (started_) queue_.MarkDirty(kPool);
}

bool SlicePublisher::WantOffered() {
  std::vector<kube::ResourceSlice> wanted = SlicesOf(scope_, inventory_, taints_count_);
  const bool changed = wanted != wanted_;
  wanted_ = std::move(wanted);
  if (changed && round_) round_->outdated = true;
  return changed;
}

// Decided once: trying again would offer a bad device each time.
void SlicePublisher::WithdrawWhatTaintsDoNotKeepAway() {
  if (!std::exchange(taints_count_, false) || !WantOffered()) return;
  edges_.log.Warning("tainted devices are withdrawn: the API server keeps no taints",
                     {{"pool", scope_.pool}});
  queue_.MarkDirty(kPool);
}

void SlicePublisher::Stop() {
  stopped_ = true;
  calls_.clear();
}

void SlicePublisher::Reconcile(Done done) {
  // An unread list must not be taken for an empty one: before the first answer it would look like a
  // wipe.
  if (stopped_ || !inventory_known_ || !informer_->synced()) return done(OkStatus());
  calls_.clear();
  gone_.clear();
  round_ = std::make_unique<Round>();
  RankOnce();
  const bool alone = !another_runs_ || !another_runs_();
  round_->plan =
      PlanSlices(wanted_, have_, generation_,
                 alone ? std::nullopt : std::optional<std::int64_t>(publisher_), reduced_);
  round_->done = std::move(done);
  LogYielded(round_->plan.yielded);
  // False until it is written, which may fail for long; an earlier look's success does not count.
  settled_ = round_->plan.empty() && !round_->plan.yielded;
  if (round_->plan.yielded) {
    // Nothing notifies of the other instance's end, so the queue looks again by itself.
    return round_->done(Unavailable("a newer instance of this driver publishes the pool"));
  }
  if (round_->plan.empty()) return round_->done(OkStatus());
  // Removing needs no owner.
  if (round_->plan.create.empty() && round_->plan.update.empty()) return Carry("");
  AskForNode();
}

void SlicePublisher::RankOnce() {
  if (std::exchange(ranked_, true)) return;
  for (const auto& [name, published] : have_) {
    publisher_ = std::max(publisher_, published.publisher + 1);
  }
}

// Read anew each time: a slice owned by a former Node of the same name would be collected as soon
// as it is written.
void SlicePublisher::AskForNode() {
  calls_.push_back(
      edges_.api.Do(kube::Get(kube::kNodes, "", scope_.node), [this](const StatusOr<Json>& node) {
        if (node.ok()) return Carry((*node)["metadata"]["uid"].AsString());
        Status status = Annotate(node.status(), "get node {}", scope_.node);
        // The Node may come later: a kubelet that registers itself is often slower than the driver.
        if (status.code() == Code::kNotFound) status = Unavailable("{}", status.message());
        LogTrouble(status);
        round_->done(status);
      }));
}

// All writes at once: none depends on another, and the pool is complete only with the last anyway.
void SlicePublisher::Carry(const std::string& node_uid) {
  const SlicePlan& plan = round_->plan;
  round_->waiting = plan.create.size() + plan.update.size() + plan.remove.size();
  for (const kube::ResourceSlice& slice : plan.create) {
    Write(kube::Create(kube::kResourceSlices, "", ToObject(slice, node_uid)), slice);
  }
  for (const kube::ResourceSlice& slice : plan.update) {
    Write(kube::Update(kube::kResourceSlices, ToObject(slice, node_uid)), slice);
  }
  for (const kube::ResourceSlice& slice : plan.remove) {
    kube::DeleteOptions options;
    // A slice that was made again under the name is not removed.
    options.uid = slice.uid;
    calls_.push_back(edges_.api.Do(
        kube::Delete(kube::kResourceSlices, "", slice.name, options),
        [this, slice](const StatusOr<Json>& answer) { OnRemoved(slice, answer.status()); }));
  }
}

void SlicePublisher::Write(net::HttpRequest request, const kube::ResourceSlice& sent) {
  calls_.push_back(edges_.api.Do(
      std::move(request), [this, sent](const StatusOr<Json>& answer) { OnWritten(sent, answer); }));
}

void SlicePublisher::OnWritten(const kube::ResourceSlice& sent, const StatusOr<Json>& answer) {
  if (!answer.ok()) return CountWrite(sent.name, answer.status());
  if (StatusOr<PublishedSlice> now = DecodePublishedSlice(*answer); now.ok()) {
    generation_ = std::max(generation_, now->slice.generation);
    RememberWhatWasKept(sent, now->slice);
    // The watch shows the same soon; until then the next look must not write it again. But the
    // watch may already be ahead of this answer, with somebody else's change or removal.
    const auto it = have_.find(sent.name);
    const bool overtaken =
        gone_.contains(now->slice.uid) || (it != have_.end() && !IsOlder(it->second, *now));
    if (!overtaken) {
      have_.insert_or_assign(sent.name, *std::move(now));
      ahead_.insert(sent.name);
    }
  }
  CountWrite(sent.name, OkStatus());
}

// An API server answers OK to fields whose feature gate is off, and drops them. Compared only with
// the wanted slice, they would be written again for ever.
void SlicePublisher::RememberWhatWasKept(const kube::ResourceSlice& sent,
                                         const kube::ResourceSlice& kept) {
  reduced_.erase(sent.name);
  const std::vector<DroppedField> dropped = DroppedFields(sent, kept);
  if (dropped.empty()) return;
  reduced_.insert_or_assign(sent.name, ReducedSlice{sent, kept});
  for (const DroppedField& each : dropped) {
    if (each.field == kTaintsField) WithdrawWhatTaintsDoNotKeepAway();
    if (!logged_dropped_.insert(each.field).second) continue;
    edges_.log.Warning("the API server drops a field of devices; they are published without it",
                       {{"pool", scope_.pool}, {"field", each.field}, {"advice", each.advice}});
  }
}

void SlicePublisher::OnRemoved(const kube::ResourceSlice& slice, const Status& status) {
  // Somebody else removed it, which is fine.
  const bool gone = status.ok() || status.code() == Code::kNotFound;
  if (gone) {
    EraseIf(slice.name, slice.uid);
    reduced_.erase(slice.name);
  }
  CountWrite(slice.name, gone ? OkStatus() : status);
}

void SlicePublisher::CountWrite(const std::string& name, const Status& status) {
  edges_.metrics.Add("galen_driver_slice_writes_total", {{"result", status.ok() ? "ok" : "error"}});
  if (!status.ok()) round_->worst = Annotate(status, "write ResourceSlice {}", name);
  if (--round_->waiting == 0) FinishRound();
}

void SlicePublisher::FinishRound() {
  const SlicePlan& plan = round_->plan;
  if (!round_->worst.ok()) {
    LogTrouble(round_->worst);
    // Any failure (a lost race, no permission yet, a name that is taken) may be fixed by the next
    // look; the delays grow.
    return round_->done(Unavailable("{}", round_->worst.message()));
  }
  settled_ = !round_->outdated;
  logged_trouble_.clear();
  edges_.log.Info("ResourceSlices are published", {{"pool", scope_.pool},
                                                   {"slices", wanted_.size()},
                                                   {"generation", generation_},
                                                   {"created", plan.create.size()},
                                                   {"updated", plan.update.size()},
                                                   {"removed", plan.remove.size()}});
  round_->done(OkStatus());
}

Json SlicePublisher::ToObject(const kube::ResourceSlice& slice, const std::string& node_uid) const {
  Json object = kube::EncodeSlice(slice);
  Json& metadata = object["metadata"];
  metadata["annotations"][kPublisherAnnotation] = fmt::format("{}", publisher_);
  // Owned by the Node, so that slices of a node that is taken out of the cluster are collected with
  // it.
  metadata["ownerReferences"] = Json::MakeArray({Json::MakeObject({{"apiVersion", "v1"},
                                                                   {"kind", "Node"},
                                                                   {"name", scope_.node},
                                                                   {"uid", node_uid},
                                                                   {"controller", true}})});
  return object;
}

void SlicePublisher::LogYielded(bool yielded) {
  if (yielded_ == yielded) return;
  yielded_ = yielded;
  if (yielded) {
    edges_.log.Info("a newer instance of this driver publishes other ResourceSlices; ours wait",
                    {{"pool", scope_.pool}});
  }
}

// The same problem is logged only once.
void SlicePublisher::LogTrouble(const Status& status) {
  if (status.message() == logged_trouble_) return;
  logged_trouble_ = status.message();
  edges_.log.Warning("ResourceSlices cannot be published now; trying again",
                     {{"pool", scope_.pool}, {"error", status.message()}});
}

}  // namespace galen::sdk
