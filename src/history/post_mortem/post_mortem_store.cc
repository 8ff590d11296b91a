#include "history/post_mortem/post_mortem_store.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <tuple>

#include "history/post_mortem/relevant_finding.h"
#include "history/store/health_json.h"

namespace galen::history {
namespace {

constexpr std::string_view kRecord = "post-mortem";
constexpr std::string_view kHolding = "holding";
constexpr std::string_view kReleased = "released";
constexpr std::string_view kBoot = "boot";
// A rewrite below this would cost more than the room it gains.
constexpr std::size_t kRewriteBytes = std::size_t{256} << 10;

std::string LineOf(const PostMortem& record) {
  Json json = ToJson(record);
  json["kind"] = kRecord;
  return json.Dump();
}

std::string LineOf(const Holding& holding) {
  Json json = Json::MakeObject({{"kind", kHolding}, {"pod", ToJson(holding.pod)}});
  for (const PostMortemDevice& device : holding.devices) json["devices"].Append(ToJson(device));
  PutOptionalTime(json, "began", holding.began);
  return json.Dump();
}

std::string BootLine(const std::string& boot_id) {
  return Json::MakeObject({{"kind", kBoot}, {"id", boot_id}}).Dump();
}

// Lines in memory come from a record or were read once already.
PostMortem DecodeOurMortem(const std::string& line) {
  const StatusOr<Json> json = Json::Parse(line);
  GALEN_CHECK(json.ok());
  StatusOr<PostMortem> record = ToPostMortem(*json);
  GALEN_CHECK(record.ok());
  return *std::move(record);
}

}  // namespace

StatusOr<std::unique_ptr<PostMortemStore>> PostMortemStore::Open(FileSystem& files,
                                                                 Options options) {
  ASSIGN_OR_RETURN(Journal::Replayed replayed, Journal::Open(files, options.directory));
  auto store = std::unique_ptr<PostMortemStore>(new PostMortemStore(std::move(options)));
  store->writer_ = std::make_unique<JournalWriter>(
      std::move(replayed.journal),
      JournalWriter::Options{.disk = store->options_.disk,
                             .rewrite_bytes = kRewriteBytes,
                             .lines = [kept = store.get()] { return kept->Lines(); }});
  store->notes_ = std::move(replayed.notes);
  store->Replay(replayed.records);
  return store;
}

void PostMortemStore::Replay(const std::vector<std::string>& lines) {
  std::size_t unreadable = 0;
  std::string first_fault;
  for (const std::string& line : lines) {
    const Status read = ReplayLine(line);
    if (!read.ok() && ++unreadable == 1) first_fault = read.message();
  }
  if (unreadable == 0) return;
  notes_.push_back(
      fmt::format("{} post-mortem lines cannot be read and are left out; the first: {}", unreadable,
                  first_fault));
}

Status PostMortemStore::ReplayLine(const std::string& line) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(line));
  const std::string& kind = json["kind"].AsString();
  if (kind == kRecord) {
    ASSIGN_OR_RETURN(const PostMortem record, ToPostMortem(json));
    Keep(record, line);
    // Drops what was dropped when the record was written: a record that is too old must not
    // displace another.
    DropOlderThan(record.ended - options_.age_max);
  } else if (kind == kHolding) {
    Holding holding{.pod = ToPodRef(json["pod"])};
    ASSIGN_OR_RETURN(holding.began, ToOptionalTime(json["began"]));
    for (const Json& item : json["devices"].items()) {
      ASSIGN_OR_RETURN(PostMortemDevice device, ToPostMortemDevice(item));
      holding.devices.push_back(std::move(device));
    }
    holdings_[holding.pod.uid] = std::move(holding);
  } else if (kind == kReleased) {
    holdings_.erase(json["uid"].AsString());
  } else if (kind == kBoot) {
    boot_id_ = json["id"].AsString();
  } else {
    return DataLoss("kind \"{}\" is not known", kind);
  }
  return OkStatus();
}

void PostMortemStore::Put(PostMortem record, WallTime now) {
  record = Bounded(std::move(record));
  std::string line = LineOf(record);
  const auto it = records_.find({record.pod.uid, record.number});
  if (it != records_.end() && it->second.line == line) return;
  const bool known = it != records_.end();
  Keep(record, line);
  // Here and not by a timer: a node on which nothing ends writes nothing.
  DropOlderThan(now - options_.age_max);
  // Without this, what there is no room for would be added, and written again, with each change of
  // its Pod.
  if (known || records_.contains({record.pod.uid, record.number})) writer_->Append(line);
}

void PostMortemStore::DropOlderThan(WallTime time) {
  for (auto old = records_.begin(); old != records_.end();) {
    const auto next = std::next(old);
    if (old->second.ended < time) Erase(old);
    old = next;
  }
}

void PostMortemStore::Keep(const PostMortem& record, std::string line) {
  const Id id{record.pod.uid, record.number};
  if (const auto it = records_.find(id); it != records_.end()) Erase(it);
  bytes_ += line.size();
  records_[id] = {std::move(line), record.pod.key, record.ended, HasFault(record)};
  MakeRoomOfPod(record.pod.uid);
  MakeRoom();
}

void PostMortemStore::Erase(std::map<Id, Kept>::iterator it) {
  bytes_ -= it->second.line.size();
  records_.erase(it);
}

// A node on which many Pods end well keeps the few that had a fault.
void PostMortemStore::MakeRoom() {
  while (bytes_ > options_.bytes_max && !records_.empty()) {
    Erase(std::ranges::min_element(records_, {}, [](const auto& entry) {
      return std::tuple(entry.second.fault, entry.second.ended);
    }));
  }
}

void PostMortemStore::MakeRoomOfPod(const std::string& uid) {
  const auto first = records_.lower_bound({uid, 0});
  auto last = first;
  std::size_t count = 0;
  for (; last != records_.end() && last->first.first == uid; ++last) ++count;
  if (count <= kPerPodMax) return;
  // The newest stays in any case: the next number follows from its number.
  Erase(std::min_element(first, std::prev(last), [](const auto& a, const auto& b) {
    return std::tuple(a.second.fault, a.first.second) < std::tuple(b.second.fault, b.first.second);
  }));
}

void PostMortemStore::Hold(Holding holding) {
  Bound(holding.pod);
  if (holding.devices.size() > kMortemDevicesMax) holding.devices.resize(kMortemDevicesMax);
  for (PostMortemDevice& device : holding.devices) Bound(device);
  while (holding.devices.size() > 1 && LineOf(holding).size() > kPostMortemBytesMax) {
    holding.devices.resize(holding.devices.size() / 2);
  }
  const auto it = holdings_.find(holding.pod.uid);
  if (it != holdings_.end() && it->second == holding) return;
  writer_->Append(LineOf(holding));
  if (it == holdings_.end() && holdings_.size() >= kHoldingsMax) holdings_.erase(holdings_.begin());
  holdings_[holding.pod.uid] = std::move(holding);
}

void PostMortemStore::Release(const std::string& uid) {
  if (holdings_.erase(uid) == 0) return;
  writer_->Append(Json::MakeObject({{"kind", kReleased}, {"uid", uid}}).Dump());
}

void PostMortemStore::NoteBoot(const std::string& boot_id) {
  if (boot_id == boot_id_) return;
  boot_id_ = boot_id;
  writer_->Append(BootLine(boot_id));
}

const Holding* PostMortemStore::HoldingOf(const std::string& uid) const {
  const auto it = holdings_.find(uid);
  return it == holdings_.end() ? nullptr : &it->second;
}

std::vector<std::string> PostMortemStore::Lines() const {
  std::vector<std::string> lines;
  if (!boot_id_.empty()) lines.push_back(BootLine(boot_id_));
  for (const auto& [uid, holding] : holdings_) lines.push_back(LineOf(holding));
  for (const auto& [id, kept] : records_) lines.push_back(kept.line);
  return lines;
}

template <typename Matches>
std::vector<PostMortem> PostMortemStore::Find(Matches matches) const {
  std::vector<PostMortem> found;
  for (const auto& [id, kept] : records_) {
    if (matches(kept)) found.push_back(DecodeOurMortem(kept.line));
  }
  std::ranges::stable_sort(found, [](const PostMortem& a, const PostMortem& b) {
    return std::tie(a.ended, a.number) > std::tie(b.ended, b.number);
  });
  return found;
}

std::vector<PostMortem> PostMortemStore::All(WallTime now) const {
  return Find([&](const Kept& kept) { return kept.ended >= now - options_.age_max; });
}

PostMortemStore::Answer PostMortemStore::Newest(const Query& query, WallTime now) const {
  std::vector<std::tuple<WallTime, int, const Kept*>> matching;
  for (const auto& [id, kept] : records_) {
    if (kept.ended < now - options_.age_max) continue;
    if (!query.ns.empty() && query.ns != kept.pod.ns) continue;
    if (!query.name.empty() && query.name != kept.pod.name) continue;
    matching.emplace_back(kept.ended, id.second, &kept);
  }
  std::ranges::sort(matching, std::greater<>());
  Answer answer;
  std::size_t bytes = 0;
  for (const auto& [ended, number, kept] : matching) {
    if (bytes > query.bytes_max) {
      ++answer.left_out;
      continue;
    }
    answer.records.push_back(DecodeOurMortem(kept->line));
    bytes += kept->line.size();
  }
  return answer;
}

std::optional<ObjectKey> PostMortemStore::PodNamed(const std::string& name, WallTime now) const {
  const Kept* newest = nullptr;
  for (const auto& [id, kept] : records_) {
    if (kept.pod.name != name || kept.ended < now - options_.age_max) continue;
    if (newest == nullptr || kept.ended > newest->ended) newest = &kept;
  }
  return newest == nullptr ? std::nullopt : std::optional(newest->pod);
}

std::vector<PostMortem> PostMortemStore::WithFault(WallTime now, std::size_t most) const {
  // By the newest ends, so that only what is asked for is decoded.
  std::vector<WallTime> ends;
  for (const auto& [id, kept] : records_) {
    if (kept.fault) ends.push_back(kept.ended);
  }
  std::ranges::sort(ends, std::greater<>());
  const WallTime oldest = ends.size() > most ? ends[most] : WallTime::min();
  std::vector<PostMortem> found = Find([&](const Kept& kept) {
    return kept.fault && kept.ended >= std::max(oldest, now - options_.age_max);
  });
  if (found.size() > most) found.resize(most);
  return found;
}

std::vector<PostMortem> PostMortemStore::OfPod(const ObjectKey& pod, WallTime now) const {
  return Find(
      [&](const Kept& kept) { return kept.pod == pod && kept.ended >= now - options_.age_max; });
}

bool PostMortemStore::Has(const std::string& uid, int number, WallTime now) const {
  const auto it = records_.find({uid, number});
  return it != records_.end() && it->second.ended >= now - options_.age_max;
}

std::optional<PostMortem> PostMortemStore::LastOf(const std::string& uid) const {
  auto it = records_.upper_bound({uid, std::numeric_limits<int>::max()});
  if (it == records_.begin() || std::prev(it)->first.first != uid) return std::nullopt;
  return DecodeOurMortem(std::prev(it)->second.line);
}

std::vector<PostMortem> PostMortemStore::OpenAt(WallTime now, Duration grace) const {
  return Find([&](const Kept& kept) { return kept.ended + kCrashWindow + grace > now; });
}

}  // namespace galen::history
