#include "agent/post_mortem/post_mortem_keeper.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/files/boot_id.h"
#include "history/post_mortem/post_mortem_text.h"
#include "history/post_mortem/relevant_finding.h"
#include "verdict/judge.h"

namespace galen::agent {
namespace {

using history::PodEnd;
using history::PostMortem;
using history::PostMortemDevice;

std::pair<std::string, int> IdOf(const PostMortem& record) {
  return {record.pod.uid, record.number};
}

}  // namespace

NodeBoot ReadNodeBoot(FileSystem& files) {
  const StatusOr<std::string> id = ReadBootId(files);
  return {id.ok() ? *id : "", ReadBootTime(files)};
}

void PostMortemKeeper::Start(const NodeBoot& boot) {
  const WallTime now = parts_.loop.WallNow();
  const WallTime newest = findings_.Restore(parts_.journal);
  last_alive_ = newest == WallTime{} ? now : std::min(newest, now);
  for (const PostMortem& record : parts_.store.OpenAt(now, kReceivedLateMax))
    StartCollecting(record);
  // Changes that the journal has and the records lack were reported shortly before the agent ended.
  std::vector<PostMortem> behind;
  for (const auto& [id, record] : open_) {
    PostMortem present = record;
    const bool news = CatchUp(present);
    if (news || (HadFaultByItsEnd(present) && !present.published)) RejudgeLater(id);
    if (news) behind.push_back(std::move(present));
  }
  for (PostMortem& record : behind) Store(std::move(record));
  NoteReboot(boot);
  notable_ = parts_.store.WithFault(now, kNotableMax);
}

void PostMortemKeeper::NoteReboot(const NodeBoot& boot) {
  const std::string before = parts_.store.boot_id();
  if (boot.id.empty()) {
    // Logged at each start. Where a sandbox hides the boot id, the log explains why no reboot is
    // ever recorded.
    parts_.log.Warning("reboots cannot be recorded, the boot id is unreadable",
                       {{"file", kBootIdPath}});
  }
  if (boot.id.empty() || boot.id == before) return;
  parts_.store.NoteBoot(boot.id);
  SyncAfter(Duration::zero());
  if (before.empty()) return;
  const WallTime now = parts_.loop.WallNow();
  const WallTime time = std::min(boot.time.value_or(now), now);
  // A copy: the loop removes Pods that ended from the holdings.
  const auto holdings = parts_.store.holdings();
  for (const auto& [uid, holding] : holdings) {
    End(holding.pod, {{PodEnd::kNodeReboot, "", time}, std::min(last_alive_, time)}, nullptr);
  }
}

void PostMortemKeeper::OnSynced() {
  synced_ = true;
  const WallTime now = parts_.loop.WallNow();
  const auto holdings = parts_.store.holdings();
  for (const auto& [uid, holding] : holdings) {
    const kube::Pod* pod = parts_.view.FindPod(holding.pod.key);
    if (pod != nullptr && pod->meta.uid == uid) continue;
    End(holding.pod, {{PodEnd::kGone, "", now}, last_alive_}, nullptr);
  }
  if (!to_rejudge_.empty()) rejudge_ = parts_.loop.After(kRejudgeAfter, [this] { RejudgeDue(); });
}

void PostMortemKeeper::OnPod(const ObjectKey&, const kube::Pod* before, const kube::Pod* after) {
  const bool replaced =
      before != nullptr && after != nullptr && before->meta.uid != after->meta.uid;
  if (before != nullptr && (after == nullptr || replaced)) {
    const WallTime now = parts_.loop.WallNow();
    Ended ended{*EndingOf(before, nullptr, now), now};
    // An end that the watch shows late may have happened at any time since the watch broke.
    const std::optional<WallTime> unseen = parts_.unseen_since();
    if (unseen && *unseen + kUnseenMin < now) {
      ended = {{PodEnd::kGone, ended.ending.reason, now}, *unseen};
    }
    End(before->ref(), ended, before);
  }
  if (after != nullptr) Observe(*after, replaced ? nullptr : before);
}

void PostMortemKeeper::OnClaims(const ObjectKey& key) {
  if (const kube::Pod* pod = parts_.view.FindPod(key)) Observe(*pod, pod);
}

void PostMortemKeeper::Observe(const kube::Pod& pod, const kube::Pod* before) {
  const WallTime now = parts_.loop.WallNow();
  // For a Pod that an earlier agent knew: its containers may have crashed in between.
  std::optional<WallTime> away_since;
  if (parts_.store.HoldingOf(pod.meta.uid) != nullptr) away_since = last_alive_;
  if (!HasEnded(pod)) NoteHolding(pod);
  const std::optional<PodEnding> ending = EndingOf(before, &pod, now, away_since);
  if (!ending) return Enrich(pod);
  // An old ended Pod that nobody removes makes no new record at each start.
  if (ending->time < now - parts_.store.age_max()) return;
  End(pod.ref(), {*ending, ending->time}, &pod);
}

// Adds what becomes known later of a Pod that lives on after a node reboot: its containers' exit
// codes come after the reboot itself.
void PostMortemKeeper::Enrich(const kube::Pod& pod) {
  auto last = open_.lower_bound({pod.meta.uid, std::numeric_limits<int>::max()});
  if (last == open_.begin() || (--last)->first.first != pod.meta.uid) return;
  if (parts_.loop.WallNow() > last->second.until()) return;
  PostMortem record = last->second;
  AddPod(record, pod);
  record = history::Bounded(std::move(record));
  if (record != last->second) JudgeAndStore(std::move(record));
}

void PostMortemKeeper::NoteHolding(const kube::Pod& pod) {
  if (parts_.claims.DevicesOf(pod.meta.key).empty()) return;
  parts_.store.Hold({pod.ref(), DevicesOf(pod.ref()), BeganOf(pod)});
  if (parts_.store.waits()) SyncAfter(Duration::zero());
}

std::vector<PostMortemDevice> PostMortemKeeper::DevicesOf(const PodRef& ref) const {
  std::vector<PostMortemDevice> devices;
  if (const history::Holding* noted = parts_.store.HoldingOf(ref.uid)) devices = noted->devices;
  const kube::Pod* pod = parts_.view.FindPod(ref.key);
  if (pod == nullptr || pod->meta.uid != ref.uid) return devices;
  return WithNoted(DevicesOfHeld(parts_.claims.DevicesOf(ref.key), parts_.identity_of),
                   std::move(devices));
}

void PostMortemKeeper::End(const PodRef& ref, const Ended& ended, const kube::Pod* pod) {
  StoreDirty();
  const std::optional<PostMortem> last = parts_.store.LastOf(ref.uid);
  const bool joins = last && BelongsTo(*last, ended.ending);
  PostMortem record = joins ? *last : Begin(ref, ended, last ? last->number + 1 : 1);
  if (joins && !last->over) {
    AddEnding(record, ended.ending);
    CatchUp(record);
  }
  if (pod != nullptr) AddPod(record, *pod);
  AddDevices(record);
  // Compared in its stored form: otherwise the API's repetition of an end would look new.
  record = history::Bounded(std::move(record));
  // Without devices the end is not recorded.
  if (!record.devices.empty() && record != last) {
    parts_.log.Info("pod ended", {{"pod", ToString(ref.key)}, {"end", EndText(record)}});
    // Long after the end its neighbours have changed or are gone: the verdict stays.
    const bool judged = joins && record.devices == last->devices &&
                        parts_.loop.WallNow() > record.until() + kRejudgeAfter;
    if (!judged) RejudgeLater(IdOf(record));
    judged ? Store(std::move(record)) : JudgeAndStore(std::move(record));
  }
  if (IsLast(ended.ending.end)) parts_.store.Release(ref.uid);
  if (parts_.store.waits()) SyncAfter(Duration::zero());
}

PostMortem PostMortemKeeper::Begin(const PodRef& ref, const Ended& ended, int number) const {
  PostMortem record;
  record.pod = ref;
  record.number = number;
  record.node = parts_.node;
  record.end = ended.ending.end;
  record.reason = ended.ending.reason;
  record.first = std::min(ended.first, ended.ending.time);
  record.ended = ended.ending.time;
  record.over = IsLast(record.end);
  // The Pod may be gone, so that its devices are known only from what was noted.
  if (const history::Holding* noted = parts_.store.HoldingOf(ref.uid)) record.began = noted->began;
  if (record.began) record.first = std::clamp(*record.began, record.first, record.ended);
  record.exact = record.first == record.ended;
  return record;
}

void PostMortemKeeper::AddDevices(PostMortem& record) const {
  // The record already leaves devices out.
  if (record.devices_left_out > 0) return;
  for (PostMortemDevice& device : DevicesOf(record.pod)) {
    const bool known = std::ranges::any_of(
        record.devices, [&](const PostMortemDevice& other) { return IsSame(other, device); });
    if (known) continue;
    device.findings =
        findings_.Of(parts_.health_of(device.identity.id), record.from(), record.until());
    record.devices.push_back(std::move(device));
  }
}

bool PostMortemKeeper::CatchUp(PostMortem& record) const {
  bool news = false;
  for (PostMortemDevice& device : record.devices) {
    const DeviceHealth present = parts_.health_of(device.identity.id);
    for (const auto& f : findings_.Of(present, record.from(), record.until())) {
      if (IsWithin(f, record.from(), record.until())) news = AddFinding(record, f, device) || news;
    }
  }
  return news;
}

void PostMortemKeeper::OnChanges(const std::vector<HealthChange>& changes) {
  parts_.clock.Look();
  const WallTime now = parts_.loop.WallNow();
  const bool waits = !dirty_.empty();
  for (const HealthChange& change : changes) {
    findings_.Add(change, now);
    const auto ids = open_of_device_.find(change.after.id);
    if (ids == open_of_device_.end()) continue;
    for (const Id& id : ids->second) {
      PostMortem& record = open_.at(id);
      if (MayBeLater(id, change.after)) continue;
      const history::ReceivedFinding finding{change.after, now};
      if (!IsWithin(finding, record.from(), record.until())) continue;
      for (PostMortemDevice& device : record.devices) {
        const bool same = device.identity.id == change.after.id;
        if (same && AddFinding(record, finding, device)) dirty_.insert(id);
      }
    }
  }
  if (waits || dirty_.empty()) return;
  gather_ = parts_.loop.After(kGather, [this] { StoreDirty(); });
}

void PostMortemKeeper::StoreDirty() {
  for (const Id& id : std::exchange(dirty_, {})) {
    const auto it = open_.find(id);
    if (it == open_.end()) continue;
    JudgeAndStore(PostMortem(it->second));
    RejudgeLater(id);
  }
}

void PostMortemKeeper::JudgeAndStore(PostMortem record) {
  // Before the lists are known no Pod has neighbours: an earlier verdict that had them is better.
  const bool judge = synced_ || record.verdict == Verdict{};
  Store(judge ? Judged(std::move(record)) : std::move(record));
}

PostMortem PostMortemKeeper::Judged(PostMortem record) const {
  // Judged by what is stored; otherwise a later judgement, such as after a restart, could differ.
  record = history::Bounded(std::move(record));
  record.verdict = VerdictOn(record);
  return record;
}

void PostMortemKeeper::Store(PostMortem record) {
  record = history::Bounded(std::move(record));
  parts_.store.Put(record, parts_.loop.WallNow());
  StartCollecting(record);
  StopCollectingOld();
  NoteNotable(record);
  if (parts_.store.waits()) SyncAfter(Duration::zero());
}

Verdict PostMortemKeeper::VerdictOn(const PostMortem& record) const {
  // Most ends are without a crash, and no fault.
  if (!HasCrash(record)) return {};
  Surroundings around{.view = parts_.view, .claims = parts_.claims, .worst_of = {}, .ended = {}};
  around.worst_of = [this](const DeviceId& device, WallTime from, WallTime until) {
    return findings_.WorstOf(parts_.health_of(device), from, until);
  };
  for (const auto& [id, other] : open_) around.ended.push_back(&other);
  return Judge(EvidenceOf(record, around));
}

void PostMortemKeeper::StartCollecting(const PostMortem& record) {
  const Id id = IdOf(record);
  parts_.clock.Look();
  const Duration at = opened_at_.contains(id) ? opened_at_[id] : parts_.clock.set_back();
  StopCollecting(id);
  if (open_.size() >= kOpenMax) {
    const auto ended = [](const auto& entry) { return entry.second.ended; };
    LetGo(Id(std::ranges::min_element(open_, {}, ended)->first));
  }
  if (open_.empty()) old_timer_ = parts_.loop.After(kStopOldEvery, [this] { StopCollectingOld(); });
  open_[id] = record;
  opened_at_[id] = at;
  for (const PostMortemDevice& device : record.devices) {
    open_of_device_[device.identity.id].insert(id);
  }
}

void PostMortemKeeper::StopCollecting(const Id& id) {
  const auto it = open_.find(id);
  if (it == open_.end()) return;
  for (const PostMortemDevice& device : it->second.devices) {
    const auto ids = open_of_device_.find(device.identity.id);
    if (ids == open_of_device_.end()) continue;
    ids->second.erase(id);
    if (ids->second.empty()) open_of_device_.erase(ids);
  }
  open_.erase(it);
  opened_at_.erase(id);
}

void PostMortemKeeper::LetGo(const Id& id) {
  StopCollecting(id);
  publishing_.erase(id);
}

void PostMortemKeeper::StopCollectingOld() {
  const WallTime now = parts_.loop.WallNow();
  std::vector<Id> old;
  for (const auto& [id, record] : open_) {
    // A record that the store had no room for is not kept open either.
    const bool kept = parts_.store.Has(id.first, id.second, now);
    if (!kept || record.until() + kReceivedLateMax < now) old.push_back(id);
  }
  for (const Id& id : old) LetGo(id);
  ShowNotable(notable_);
  if (!open_.empty())
    old_timer_ = parts_.loop.After(kStopOldEvery, [this] { StopCollectingOld(); });
}

void PostMortemKeeper::NoteNotable(const PostMortem& record) {
  std::vector<PostMortem> notable = notable_;
  std::erase_if(notable, [&](const PostMortem& other) { return IdOf(other) == IdOf(record); });
  if (HasFault(record)) {
    const auto at = std::ranges::find_if(
        notable, [&](const PostMortem& other) { return other.ended <= record.ended; });
    notable.insert(at, record);
  }
  ShowNotable(std::move(notable));
}

void PostMortemKeeper::ShowNotable(std::vector<PostMortem> notable) {
  const WallTime now = parts_.loop.WallNow();
  std::erase_if(notable, [&](const PostMortem& record) {
    return !parts_.store.Has(record.pod.uid, record.number, now);
  });
  if (notable.size() > kNotableMax) notable.resize(kNotableMax);
  if (notable == notable_) return;
  notable_ = std::move(notable);
  parts_.on_notable();
}

void PostMortemKeeper::SyncAfter(Duration delay) {
  const Time at = parts_.loop.Now() + delay;
  if (sync_at_ && *sync_at_ <= at) return;
  sync_at_ = at;
  sync_ = parts_.loop.At(at, [this] { Sync(); });
}

void PostMortemKeeper::Sync() {
  sync_at_.reset();
  // One write at a time, so that a disk that hangs does not collect one more for each end.
  if (std::exchange(writing_, true)) return;
  parts_.store.Sync([this](const Status& status) { OnWritten(status); });
}

void PostMortemKeeper::OnWritten(const Status& status) {
  writing_ = false;
  const std::string trouble = status.ok() ? "" : status.message();
  if (!trouble.empty() && trouble_.empty()) {
    parts_.log.Error("post-mortem records are not written", {{"error", trouble}});
  }
  trouble_ = trouble;
  if (!status.ok()) return SyncAfter(kSyncAgain);
  // Writes what came during the write.
  if (parts_.store.waits()) Sync();
}

}  // namespace galen::agent
