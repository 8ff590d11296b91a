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

StateFile::StateFile(FileSystem& files, Log& log, std::string path, std::string boot_id)
    : files_(files), log_(log), path_(std::move(path)), boot_id_(std::move(boot_id)) {}

void StateFile::Load() {
  const StatusOr<std::string> text = files_.Read(path_);
  if (text.status().code() == Code::kNotFound) return;
  const StatusOr<Json> state = text.ok() ? ParseState(*text) : StatusOr<Json>(text.status());
  if (!state.ok()) {
    const Status moved = files_.Rename(path_, path_ + ".broken");
    log_.Warning("state file is broken, starting without it",
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

Status StateFile::Flush() {
  if (!dirty_) return OkStatus();
  const Json state = Json::MakeObject({{"bootId", boot_id_}, {"sections", sections_}});
  const Status status = files_.WriteAtomically(path_, state.Dump());
  // Sections that could not be written stay due, whether or not anything changes.
  dirty_ = !status.ok();
  if (status.ok() == failing_) {
    failing_ = !status.ok();
    if (failing_) {
      log_.Error("state file cannot be written, a restart would read the kernel's log again",
                 {{"path", path_}, {"error", status.message()}});
    } else {
      log_.Info("state file is written again", {{"path", path_}});
    }
  }
  return status;
}

}  // namespace galen::probes
