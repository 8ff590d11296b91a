#include "probes/active_check/check_results.h"

#include <fmt/format.h>

namespace galen::probes {
namespace {

std::string KnownAs(const CheckedDevice& device, const std::string& placeholder) {
  const auto known = device.known.find(placeholder);
  return known == device.known.end() ? "" : known->second;
}

// Whether both say so and mean another one: a card that took the place of the one that was checked.
bool Contradict(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

}  // namespace

CheckResults::CheckResults(Parts parts, std::unique_ptr<ResultFiles> files, std::string directory,
                           std::string boot_id)
    : parts_(parts),
      files_(std::move(files)),
      directory_(std::move(directory)),
      boot_id_(std::move(boot_id)) {
  parts_.metrics.DeclareCounter("galen_active_checks_total",
                                "Results of active checks that were found, by verdict.");
}

void CheckResults::SetDevices(const std::vector<CheckedDevice>& devices) { devices_ = devices; }

StatusOr<std::vector<Sign>> CheckResults::Observe() {
  Refresh();
  std::vector<Sign> signs;
  for (const CheckedDevice& device : devices_) signs.push_back(SignOf(device));
  return signs;
}

void CheckResults::Refresh() {
  const std::map<std::string, FileStamp> files = files_->List(directory_);
  std::erase_if(known_, [&files](const auto& entry) { return !files.contains(entry.first); });
  for (const auto& [name, stamp] : files) {
    const auto known = known_.find(name);
    if (known != known_.end() && known->second.stamp == stamp) continue;
    known_.insert_or_assign(name, Load(name, stamp));
  }
}

CheckResults::Known CheckResults::Load(const std::string& name, const FileStamp& stamp) {
  const std::string path = directory_ + "/" + name;
  const auto read = [&]() -> StatusOr<CheckResult> {
    ASSIGN_OR_RETURN(const std::string text, files_->Read(path));
    ASSIGN_OR_RETURN(CheckResult result, ParseCheckResult(text));
    RETURN_IF_ERROR(Believe(result, name));
    return result;
  };
  StatusOr<CheckResult> result = read();
  parts_.metrics.Add("galen_active_checks_total",
                     {{"verdict", result.ok() ? ToString(result->verdict) : "refused"}});
  if (!result.ok()) {
    parts_.log.Warning("a result of an active check is not believed",
                       {{"file", path}, {"error", result.status().message()}});
    return {.stamp = stamp};
  }
  parts_.log.Info("an active check left its result", {{"device", result->device},
                                                      {"verdict", ToString(result->verdict)},
                                                      {"message", result->message}});
  return {.stamp = stamp, .result = *std::move(result)};
}

Status CheckResults::Believe(const CheckResult& result, const std::string& name) const {
  if (name != CheckResultFile(result.device, result.subject)) {
    return InvalidArgument("it is about {} of {}, which has another name", ToString(result.subject),
                           result.device);
  }
  if (result.boot_id != boot_id_) return InvalidArgument("it is of another start of this machine");
  if (result.ended > parts_.loop.WallNow() + kFutureMost) {
    return InvalidArgument("it ended in the future, at {}", FormatRfc3339(result.ended));
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

Sign CheckResults::SignOf(const CheckedDevice& device) const {
  Sign sign;
  sign.device = device.name;
  sign.name = kActiveCheckSign;
  sign.time = parts_.loop.WallNow();
  for (const CheckSubject subject : {CheckSubject::kDevice, CheckSubject::kLinks}) {
    const CheckResult* result = Of(device, subject);
    if (result == nullptr || result->verdict == CheckVerdict::kUnknown) continue;
    const std::string ended = FormatRfc3339(result->ended);
    if (result->verdict == CheckVerdict::kFailed) {
      sign.value = 1.0;
      sign.time = result->ended;
      sign.detail = result->message;
      sign.raw = fmt::format("active check of {} failed at {}: {}", ToString(subject), ended,
                             result->code);
      return sign;
    }
    if (!sign.detail.empty() || parts_.loop.WallNow() - result->ended > kPassedHolds) continue;
    sign.time = result->ended;
    sign.detail = fmt::format("Active check of {} passed at {}", ToString(subject), ended);
    sign.raw = fmt::format("active check of {} passed at {}", ToString(subject), ended);
  }
  return sign;
}

}  // namespace galen::probes
