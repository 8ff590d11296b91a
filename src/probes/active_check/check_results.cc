#include "probes/active_check/check_results.h"

#include <fmt/format.h>

#include <utility>

namespace galen::probes {
namespace {

std::string KnownAs(const CheckedDevice& device, const std::string& placeholder) {
  const auto known = device.known.find(placeholder);
  return known == device.known.end() ? "" : known->second;
}

// Whether both are known and differ: another card took the place of the one that was checked.
bool Contradict(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

}  // namespace

CheckResults::CheckResults(Parts parts, std::unique_ptr<ResultFiles> files,
                           std::unique_ptr<DiskQueue> queue, std::string directory,
                           std::string boot_id)
    : parts_(parts),
      files_(std::move(files)),
      queue_(std::move(queue)),
      directory_(std::move(directory)),
      boot_id_(std::move(boot_id)) {
  parts_.metrics.DeclareCounter("galen_active_checks_total",
                                "Results of active checks that were found, by verdict.");
}

void CheckResults::SetDevices(const std::vector<CheckedDevice>& devices) { devices_ = devices; }

void CheckResults::Start(std::function<void()> look_again) {
  look_again_ = std::move(look_again);
  Take(LookAt(std::move(files_), directory_, KnownStamps()));
}

StatusOr<std::vector<Sign>> CheckResults::Observe() {
  observing_ = true;
  Look();
  observing_ = false;
  return Signs(parts_.loop.WallNow());
}

std::vector<Sign> CheckResults::Signs(WallTime now) const {
  std::vector<Sign> signs;
  for (const CheckedDevice& device : devices_) signs.push_back(SignOf(device, now));
  return signs;
}

std::map<std::string, FileStamp> CheckResults::KnownStamps() const {
  std::map<std::string, FileStamp> stamps;
  for (const auto& [name, known] : known_) {
    if (known.stamp) stamps.emplace(name, *known.stamp);
  }
  return stamps;
}

CheckResults::Found CheckResults::LookAt(std::unique_ptr<ResultFiles> files,
                                         const std::string& directory,
                                         const std::map<std::string, FileStamp>& known) {
  ResultFiles& asked = *files;
  Found found{std::move(files), asked.List(directory)};
  if (!found.files.ok()) return found;
  for (const auto& [name, stamp] : *found.files) {
    const auto same = known.find(name);
    if (same != known.end() && same->second == stamp) continue;
    const StatusOr<std::string> text = asked.Read(directory + "/" + name);
    found.readings.emplace(
        name, Reading{.done = text.ok() || text.status().code() == Code::kPermissionDenied,
                      .result = text.ok() ? ParseCheckResult(*text)
                                          : StatusOr<CheckResult>(text.status())});
  }
  return found;
}

void CheckResults::Look() {
  if (std::exchange(looking_, true)) return;
  patience_ = parts_.loop.After(kPatience, [this] {
    NoteListing(DeadlineExceeded("{} has not answered for {} s", directory_,
                                 kPatience / std::chrono::seconds(1)));
  });
  RunFor(
      liveness_, *queue_,
      [files = std::move(files_), directory = directory_, known = KnownStamps()]() mutable {
        return LookAt(std::move(files), directory, known);
      },
      [this](Found found) { OnLook(std::move(found)); });
}

void CheckResults::OnLook(Found found) {
  looking_ = false;
  patience_.Cancel();
  if (observing_) return Take(std::move(found));
  // At one time: that it is later is nothing new.
  const WallTime now = parts_.loop.WallNow();
  const std::vector<Sign> before = Signs(now);
  Take(std::move(found));
  if (Signs(now) != before && look_again_ != nullptr) look_again_();
}

void CheckResults::NoteListing(const Status& status) {
  const std::string trouble = status.message();
  if (std::exchange(trouble_, trouble) == trouble || status.ok()) return;
  parts_.log.Warning("results of active checks cannot be listed; what is known stays",
                     {{"error", trouble}});
}

void CheckResults::Take(Found found) {
  files_ = std::move(found.lent);
  NoteListing(found.files.status());
  if (!found.files.ok()) return;
  listed_ = true;
  std::erase_if(known_,
                [&found](const auto& entry) { return !found.files->contains(entry.first); });
  for (auto& [name, reading] : found.readings) {
    Load(name, found.files->at(name), std::move(reading));
  }
}

void CheckResults::Load(const std::string& name, const FileStamp& stamp, Reading reading) {
  Known& known = known_[name];
  StatusOr<CheckResult>& result = reading.result;
  if (!reading.done) {
    // The disk's trouble says nothing of the device: what was read before holds.
    known.stamp.reset();
    if (!known.result) known.error = result.status().message();
    return Refuse(name, known, result.status());
  }
  const Status doubt = result.ok() ? Believe(*result, name) : result.status();
  const std::string complaint = std::exchange(known.complaint, "");
  known = {.complaint = complaint};
  if (doubt.code() != Code::kOutOfRange) known.stamp = stamp;
  if (!doubt.ok()) return Refuse(name, known, doubt);
  known.complaint.clear();
  parts_.metrics.Add("galen_active_checks_total", {{"verdict", ToString(result->verdict)}});
  parts_.log.Info("an active check left its result", {{"device", result->device},
                                                      {"verdict", ToString(result->verdict)},
                                                      {"message", result->message}});
  known.result = *std::move(result);
}

void CheckResults::Refuse(const std::string& name, Known& known, const Status& why) {
  if (std::exchange(known.complaint, why.message()) == why.message()) return;
  // A reboot leaves the previous boot's files; nothing is wrong with them.
  const bool stale = why.code() == Code::kFailedPrecondition;
  parts_.metrics.Add("galen_active_checks_total", {{"verdict", stale ? "stale" : "refused"}});
  const std::string path = directory_ + "/" + name;
  if (stale) {
    parts_.log.Info("a result of an active check is stale",
                    {{"file", path}, {"why", why.message()}});
  } else {
    parts_.log.Warning("a result of an active check is refused",
                       {{"file", path}, {"error", why.message()}});
  }
}

Status CheckResults::Believe(const CheckResult& result, const std::string& name) const {
  if (name != CheckResultFile(result.device, result.subject)) {
    return InvalidArgument("it is about the {} of {}, which belongs into another file",
                           ToString(result.subject), result.device);
  }
  if (result.boot_id != boot_id_) {
    return FailedPrecondition("it is of another boot of this machine; check again");
  }
  if (result.ended > parts_.loop.WallNow() + kFutureMost) {
    return Status(Code::kOutOfRange,
                  fmt::format("it ended in the future, at {}", FormatRfc3339(result.ended)));
  }
  return OkStatus();
}

const CheckResult* CheckResults::Of(const CheckedDevice& device, CheckSubject subject) const {
  const auto known = known_.find(CheckResultFile(device.name, subject));
  if (known == known_.end() || !known->second.result) return nullptr;
  const CheckResult& result = *known->second.result;
  if (Contradict(result.pci_address, KnownAs(device, "pci")) ||
      Contradict(result.uuid, KnownAs(device, "uuid"))) {
    return nullptr;
  }
  return &result;
}

Sign CheckResults::SignOf(const CheckedDevice& device, WallTime now) const {
  Sign sign;
  sign.device = device.name;
  sign.name = kActiveCheckSign;
  sign.time = now;
  if (!listed_) sign.error = trouble_;
  for (const CheckSubject subject : {CheckSubject::kDevice, CheckSubject::kLinks}) {
    const CheckResult* result = Of(device, subject);
    const auto known = known_.find(CheckResultFile(device.name, subject));
    if (result == nullptr && known != known_.end()) sign.error = known->second.error;
    if (result == nullptr || result->verdict == CheckVerdict::kUnknown) continue;
    const std::string ended = FormatRfc3339(result->ended);
    if (result->verdict == CheckVerdict::kFailed) {
      sign.value = 1.0;
      sign.error.clear();
      sign.time = result->ended;
      sign.detail = result->message;
      sign.raw = fmt::format("active check of {} failed at {}: {}", ToString(subject), ended,
                             result->code);
      return sign;
    }
    if (!sign.detail.empty() || now - result->ended > kPassedHolds) continue;
    sign.time = result->ended;
    sign.detail = fmt::format("Active check of {} passed at {}", ToString(subject), ended);
    sign.raw = fmt::format("active check of {} passed at {}", ToString(subject), ended);
  }
  return sign;
}

}  // namespace galen::probes
