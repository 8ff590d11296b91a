#include "tests/sim/journal_witness.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/app/config.h"
#include "agent/publish/event_publisher.h"
#include "agent/publish/pod_status.h"
#include "base/data/json.h"
#include "history/journal/segment.h"
#include "history/store/record.h"
#include "kube/objects/pod.h"
#include "tests/sim/sim_driver.h"

namespace galen::sim {
namespace {

bool IsJournal(const std::string& path) {
  return path.find("/journal/") != std::string::npos && path.ends_with(".segment");
}

}  // namespace

// Whole frames come with each write; they count when they are synced.
class JournalWitness::File final : public AppendFile {
 public:
  File(JournalWitness& witness, std::unique_ptr<AppendFile> file)
      : witness_(witness), file_(std::move(file)) {}

  Status Append(std::string_view bytes) override {
    RETURN_IF_ERROR(file_->Append(bytes));
    unsynced_ += bytes;
    return OkStatus();
  }
  Status Sync() override {
    if (witness_.late_ != nullptr) return witness_.SyncLate(file_, std::exchange(unsynced_, {}));
    RETURN_IF_ERROR(file_->Sync());
    witness_.Note(std::exchange(unsynced_, {}), Way::kWritten);
    return OkStatus();
  }

 private:
  JournalWitness& witness_;
  const std::shared_ptr<AppendFile> file_;  // shared with a sync that comes late
  std::string unsynced_;
};

StatusOr<std::string> JournalWitness::Read(const std::string& path) {
  StatusOr<std::string> bytes = files_.Read(path);
  if (bytes.ok() && IsJournal(path)) Note(*bytes, Way::kRead);
  return bytes;
}

StatusOr<std::unique_ptr<AppendFile>> JournalWitness::OpenAppend(const std::string& path) {
  auto opened = files_.OpenAppend(path);
  if (!opened.ok() || !IsJournal(path)) return opened;
  return std::unique_ptr<AppendFile>(std::make_unique<File>(*this, *std::move(opened)));
}

Status JournalWitness::WriteAtomically(const std::string& path, std::string_view bytes,
                                       unsigned mode) {
  RETURN_IF_ERROR(files_.WriteAtomically(path, bytes, mode));
  if (IsJournal(path)) Note(bytes, Way::kWritten);
  return OkStatus();
}

Status JournalWitness::SyncLate(const std::shared_ptr<AppendFile>& file, std::string frames) {
  late_syncs_.push_back(
      late_->After(std::chrono::milliseconds(50), [this, file, frames = std::move(frames)] {
        if (file->Sync().ok()) Note(frames, Way::kWritten);
      }));
  return OkStatus();
}

void JournalWitness::Note(std::string_view frames, Way way) {
  const std::string header(history::HeaderOf(history::SegmentKind::kContinuation));
  const bool has_header = frames.starts_with(header) ||
                          frames.starts_with(history::HeaderOf(history::SegmentKind::kSnapshot));
  for (const std::string& line :
       history::ReadSegment(has_header ? std::string(frames) : header + std::string(frames))
           .records) {
    if (line.find("\"kind\":\"change\"") == std::string::npos) continue;
    const auto record = history::Decode(line);
    if (!record.ok() || !record->change) continue;
    const DeviceHealth& after = record->change->after;
    const std::vector<DeviceHealth> findings = {after};
    const std::string annotation = agent::AnnotationOf(findings);
    const bool is_event = agent::EventOf(*record->change).has_value();
    const bool is_new = record->sequence > newest_;
    newest_ = std::max(newest_, record->sequence);
    if (is_new) CheckOrder(after);
    if (is_event && is_new) ++times_changed_[{after.id, after.state}];
    if (way == Way::kRead && texts_.contains(annotation)) continue;
    if (is_event) ++changes_[{after.id.device, after.state}];
    Remember(annotation);
    Remember(agent::ConditionOf(findings, agent::AgentConfig().degraded).message);
  }
}

void JournalWitness::CheckOrder(const DeviceHealth& after) {
  const auto change = SimDriver::ChangeNamedIn(after.cause.message);
  if (!change) return;
  std::uint64_t& last = last_change_[after.id];
  if (*change < last) {
    disorders_.push_back(
        fmt::format("change {} of {} after its change {}", *change, ToString(after.id), last));
  }
  last = *change;
}

void JournalWitness::Remember(const std::string& text) {
  if (!texts_.insert(text).second) return;
  order_.push_back(text);
  if (order_.size() <= kTextsMax) return;
  texts_.erase(order_.front());
  order_.pop_front();
}

std::optional<std::string> JournalWitness::Unrecorded(const net::HttpRequest& write) const {
  const StatusOr<Json> body = Json::Parse(write.body);
  if (!body.ok()) return std::nullopt;
  // A device that no driver reports has no entry in the journal.
  const auto unrecorded = [&](const std::string& text) {
    const bool reported =
        text.find(" Unknown") == std::string::npos || text.find(" since ") != std::string::npos;
    return !text.empty() && reported && !texts_.contains(text);
  };
  const std::string& line = (*body)["metadata"]["annotations"][kube::kDevicesAnnotation].AsString();
  if (unrecorded(line)) return line;
  for (const Json& condition : (*body)["status"]["conditions"].items()) {
    const std::string& message = condition["message"].AsString();
    const bool ours = condition["type"].AsString() == kube::kDevicesCondition;
    if (ours && unrecorded(message)) return message;
  }
  return std::nullopt;
}

}  // namespace galen::sim
