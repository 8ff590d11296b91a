#include "history/store/store.h"

#include <algorithm>
#include <set>

#include "base/data/json.h"

namespace galen::history {
namespace {

// Only lines that Decode has taken, or that come from a bounded record, get into the window.
Record DecodeOurs(std::string_view line) {
  StatusOr<Record> record = Decode(line);
  GALEN_CHECK(record.ok());
  return *std::move(record);
}

// Whether the finding only says that nobody reports on the device: what a driver says itself, if
// only that it does not know, has another code.
bool IsSilence(const DeviceHealth& health) {
  const std::string& code = health.cause.code;
  return health.state == HealthState::kUnknown &&
         (code == cause_code::kDriverSilent || code == cause_code::kDriverGone ||
          code == cause_code::kNotReported);
}

}  // namespace

StatusOr<std::unique_ptr<Store>> Store::Open(FileSystem& files, Options options) {
  ASSIGN_OR_RETURN(Journal::Replayed replayed, Journal::Open(files, options.directory));
  auto store = std::unique_ptr<Store>(new Store(std::move(options)));
  store->writer_ = std::make_unique<JournalWriter>(
      std::move(replayed.journal),
      JournalWriter::Options{.disk = store->options_.disk,
                             .rewrite_bytes = store->options_.journal_bytes_max,
                             .lines = [kept = store.get()] { return kept->Lines(); }});
  store->notes_ = std::move(replayed.notes);
  store->lossy_ = replayed.lossy;
  store->Replay(replayed.records);
  return store;
}

void Store::Replay(const std::vector<std::string>& lines) {
  std::size_t unreadable = 0;
  std::string first_fault;
  for (const std::string& line : lines) {
    StatusOr<Record> record = Decode(line);
    if (!record.ok()) {
      if (++unreadable == 1) first_fault = record.status().message();
      continue;
    }
    // A record that came twice was written again after an error of the disk.
    if (record->sequence > last_sequence_) Apply(*record, line);
  }
  if (unreadable == 0) return;
  lossy_ = true;
  notes_.push_back(fmt::format("{} journal records cannot be read and are left out; the first: {}",
                               unreadable, first_fault));
}

std::uint64_t Store::Append(Record record) {
  record = Bounded(std::move(record));
  // Even a record that the journal refuses has its number, so that memory and the next rewrite
  // agree.
  record.sequence = last_sequence_ + 1;
  std::string line = Encode(record);
  writer_->Append(line);
  Apply(record, std::move(line));
  return last_sequence_;
}

void Store::Apply(const Record& record, std::string line) {
  last_sequence_ = record.sequence;
  // Replay and Append come through here alike, so a restart gives the same answers.
  if (record.kind == Kind::kForgotten) latest_.erase(record.device);
  if (record.change) NoteChange(record, line);
  window_.Push(record.sequence, line);
  // A single line longer than the byte bound leaves the window empty, as the bound says.
  while (window_.size() > options_.records_max || window_.bytes() > options_.bytes_max) {
    window_.PopFront();
  }
}

void Store::NoteChange(const Record& record, const std::string& line) {
  const HealthChange& change = *record.change;
  Newest& newest = latest_[record.device];
  const bool goes_on = IsSilence(change.before) && IsSilence(change.after);
  if (!goes_on) {
    newest.silence.reset();
  } else if (newest.begins_silence) {
    newest.silence = std::make_unique<Kept>(std::move(newest.change));
  }
  newest.begins_silence = IsSilence(change.after) && change.before.state != HealthState::kUnknown;
  newest.change = {record.sequence, line};
  if (latest_.size() > kDevicesMax) ForgetOldestDevice();
}

void Store::ForgetOldestDevice() {
  latest_.erase(std::min_element(latest_.begin(), latest_.end(), [](const auto& a, const auto& b) {
    return a.second.change.sequence < b.second.change.sequence;
  }));
}

// Lines in the order of their numbers. Copies: they are written by another thread.
std::vector<std::string> Store::Lines() const {
  std::map<std::uint64_t, std::string_view> older;
  const auto add = [&](const Kept& record) {
    // A change that is in the window too is written once.
    const bool in_window = !window_.empty() && record.sequence >= window_.front().sequence;
    if (!in_window) older.emplace(record.sequence, record.line);
  };
  for (const auto& [id, newest] : latest_) {
    add(newest.change);
    if (newest.silence) add(*newest.silence);
  }
  std::vector<std::string> lines;
  lines.reserve(older.size() + window_.size());
  for (const auto& [sequence, line] : older) lines.emplace_back(line);
  window_.ForEach([&](const LineWindow::Line& line) { lines.emplace_back(line.text); });
  return lines;
}

std::map<DeviceId, DeviceHealth> Store::Latest() const {
  std::map<DeviceId, DeviceHealth> healths;
  for (const auto& [id, newest] : latest_) {
    healths.emplace(id, DecodeOurs(newest.change.line).change->after);
  }
  return healths;
}

std::map<DeviceId, DeviceHealth> Store::BeforeSilence() const {
  std::map<DeviceId, DeviceHealth> healths;
  for (const auto& [id, newest] : latest_) {
    const Kept* began = newest.begins_silence ? &newest.change : newest.silence.get();
    if (began != nullptr) healths.emplace(id, DecodeOurs(began->line).change->before);
  }
  return healths;
}

template <typename Matches>
std::vector<Record> Store::Find(std::string_view text, Matches matches) const {
  // Lines are searched as text first: decoding every line of the window for one question would take
  // far longer. A match may be by chance, so `matches` decides.
  const std::string quoted = Json(text).Dump();
  std::vector<Record> records;
  window_.ForEach([&](const LineWindow::Line& line) {
    if (line.text.find(quoted) == std::string_view::npos) return;
    Record record = DecodeOurs(line.text);
    if (matches(record)) records.push_back(std::move(record));
  });
  return records;
}

std::vector<Record> Store::OfDevice(const DeviceId& id) const {
  return Find(id.device, [&](const Record& record) { return record.device == id; });
}

// Two passes: first what names the Pod, which gives its incidents; then what belongs to these. By
// number, so that both merge in order.
template <typename Matches>
std::vector<Record> Store::OfPodThat(const ObjectKey& key, Matches matches) const {
  const auto names_it = [&](const Record& record) { return record.pod && matches(*record.pod); };
  std::map<std::uint64_t, Record> found;
  std::set<std::string> incidents;
  for (Record& record : Find(key.name, names_it)) {
    if (!record.incident.empty()) incidents.insert(record.incident);
    found.emplace(record.sequence, std::move(record));
  }
  for (const std::string& incident : incidents) {
    // What an incident did to other Pods is their story.
    const auto part_of_it = [&](const Record& record) {
      return !record.pod && record.incident == incident;
    };
    for (Record& record : Find(incident, part_of_it)) {
      found.emplace(record.sequence, std::move(record));
    }
  }
  std::vector<Record> records;
  for (auto& [sequence, record] : found) records.push_back(std::move(record));
  return records;
}

std::vector<Record> Store::OfPod(const PodRef& pod) const {
  return OfPodThat(pod.key, [&](const PodRef& other) { return other == pod; });
}

std::vector<Record> Store::OfPod(const ObjectKey& pod) const {
  return OfPodThat(pod, [&](const PodRef& other) { return other.key == pod; });
}

std::vector<Record> Store::Since(std::uint64_t sequence) const {
  std::vector<Record> records;
  window_.ForEach([&](const LineWindow::Line& line) {
    if (line.sequence > sequence) records.push_back(DecodeOurs(line.text));
  });
  return records;
}

}  // namespace galen::history
