#include "probes/kernel_log/state_file.h"

#include <utility>

namespace galen::probes {
namespace {

// Every rule on 4096 devices, and more.
constexpr std::size_t kStateBytesMax = std::size_t{64} << 20;

StatusOr<Json> ParseState(const std::string& text) {
  if (text.size() > kStateBytesMax)
    return InvalidArgument("{} bytes, at most {} fit", text.size(), kStateBytesMax);
  ASSIGN_OR_RETURN(const Json state, Json::Parse(text));
  if (!state["bootId"].is_string() || !state["sections"].is_object()) {
    return InvalidArgument("bootId or sections are missing");
  }
  return state;
}

}  // namespace

StateFile::StateFile(Parts parts, std::unique_ptr<DiskQueue> queue, std::string path,
                     std::string boot_id)
    : parts_(parts),
      path_(std::move(path)),
      boot_id_(std::move(boot_id)),
      queue_(std::move(queue)) {}

void StateFile::Load() {
  const StatusOr<std::string> text = parts_.files.Read(path_);
  if (text.status().code() == Code::kNotFound) return;
  const StatusOr<Json> state = text.ok() ? ParseState(*text) : StatusOr<Json>(text.status());
  if (!state.ok()) {
    const Status moved = parts_.files.Rename(path_, path_ + ".broken");
    parts_.log.Warning("state file is broken, starting without it",
                       {{"path", path_},
                        {"error", state.status().message()},
                        {"kept_as", moved.ok() ? path_ + ".broken" : moved.message()}});
    return;
  }
  // Sequence numbers of another boot mean other records, and a fault may be gone with the reset.
  // The next Flush writes the file over.
  if ((*state)["bootId"].AsString() != boot_id_) return;
  sections_ = (*state)["sections"];
}

void StateFile::Set(std::string_view section, Json value) {
  if (sections_[section] == value) return;
  sections_[section] = std::move(value);
  dirty_ = true;
}

std::string StateFile::Text() const {
  return Json::MakeObject({{"bootId", boot_id_}, {"sections", sections_}}).Dump();
}

void StateFile::Flush(Kept kept) {
  if (kept) {
    if (asked_.empty()) asked_since_ = parts_.loop.Now();
    asked_.push_back(std::move(kept));
  }
  // The answer that is owed says when the disk goes on.
  if (hangs_) return Answer(std::exchange(asked_, {}), false);
  if (!busy_) Begin();
}

void StateFile::Begin() {
  if (!dirty_) return Answer(std::exchange(asked_, {}), true);
  const Time since = asked_.empty() ? parts_.loop.Now() : asked_since_;
  patience_ = parts_.loop.At(since + kDiskPatience, [this] { EndPatience(); });
  busy_ = true;
  dirty_ = false;
  writing_ = std::exchange(asked_, {});
  RunFor(
      liveness_, *queue_,
      [&files = parts_.files, path = path_, text = Text()] {
        return files.WriteAtomically(path, text);
      },
      [this](const Status& status) { End(status); });
}

void StateFile::End(const Status& status) {
  patience_.Cancel();
  busy_ = hangs_ = false;
  // What could not be written stays due, whether or not anything changes.
  if (!status.ok()) dirty_ = true;
  Note(status);
  Answer(std::exchange(writing_, {}), status.ok());
  // What came meanwhile. Without anybody who asks, one that failed waits for the next Flush.
  const bool more = !asked_.empty() || (status.ok() && dirty_);
  if (more && !busy_) Begin();
}

void StateFile::EndPatience() {
  hangs_ = true;
  Note(DeadlineExceeded("the disk takes longer than {} ms; health is reported all the same",
                        kDiskPatience / std::chrono::milliseconds(1)));
  Answer(std::exchange(writing_, {}), false);
  Answer(std::exchange(asked_, {}), false);
}

void StateFile::Answer(std::vector<Kept> waiting, bool on_disk) {
  for (const Kept& kept : waiting) kept(on_disk);
}

void StateFile::Note(const Status& status) {
  const std::string before = std::exchange(trouble_, status.ok() ? "" : status.message());
  if (before.empty() == trouble_.empty()) return;
  if (status.ok()) return parts_.log.Info("state file is written again", {{"path", path_}});
  parts_.log.Error("state file cannot be written, a restart would read the kernel's log again",
                   {{"path", path_}, {"error", trouble_}});
}

void StateFile::Finish() {
  Status written;
  if (dirty_) {
    queue_->Run([&] { written = parts_.files.WriteAtomically(path_, Text()); }, [] {});
  }
  queue_.reset();
  if (!written.ok()) Note(written);
}

}  // namespace galen::probes
