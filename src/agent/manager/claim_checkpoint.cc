#include "agent/manager/claim_checkpoint.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/data/json.h"
#include "base/files/temporary_files.h"

namespace galen::agent {
namespace {

// Incremented when an older agent could misread the file.
constexpr int kVersion = 1;

template <typename Strings>
Json TextsJson(const Strings& texts) {
  Json list(Json::Array{});
  for (const std::string& text : texts) list.Append(text);
  return list;
}

Json AllocationJson(const ClaimRecord& claim) {
  Json devices(Json::Array{});
  for (const AllocatedDevice& allocated : claim.allocated) {
    devices.Append(Json::MakeObject({{"request", allocated.request},
                                     {"driver", allocated.device.driver},
                                     {"pool", allocated.device.pool},
                                     {"device", allocated.device.device},
                                     {"shareID", allocated.share_id},
                                     {"adminAccess", allocated.admin_access}}));
  }
  return Json::MakeObject({{"timestamp", claim.allocated_at}, {"devices", std::move(devices)}});
}

void ReadAllocation(const Json& object, ClaimRecord& claim) {
  claim.allocated_at = object["timestamp"].AsString();
  for (const Json& item : object["devices"].items()) {
    claim.allocated.push_back({.request = item["request"].AsString(),
                               .device = {.driver = item["driver"].AsString(),
                                          .pool = item["pool"].AsString(),
                                          .device = item["device"].AsString()},
                               .share_id = item["shareID"].AsString(),
                               .admin_access = item["adminAccess"].AsBool()});
  }
}

Json ClaimJson(const ClaimRecord& claim) {
  Json devices(Json::Array{});
  for (const PreparedDevice& prepared : claim.devices) {
    devices.Append(Json::MakeObject({{"driver", prepared.device.driver},
                                     {"pool", prepared.device.pool},
                                     {"device", prepared.device.device},
                                     {"shareID", prepared.share_id},
                                     {"cdiIDs", TextsJson(prepared.cdi_ids)}}));
  }
  return Json::MakeObject({{"namespace", claim.key.ns},
                           {"name", claim.key.name},
                           {"uid", claim.uid},
                           {"allocation", AllocationJson(claim)},
                           {"pods", TextsJson(claim.pods)},
                           {"drivers", TextsJson(claim.drivers)},
                           {"devices", std::move(devices)}});
}

ClaimRecord ClaimOf(const Json& object) {
  ClaimRecord claim{.key = {object["namespace"].AsString(), object["name"].AsString()},
                    .uid = object["uid"].AsString()};
  ReadAllocation(object["allocation"], claim);
  for (const Json& pod : object["pods"].items()) claim.pods.insert(pod.AsString());
  for (const Json& driver : object["drivers"].items()) claim.drivers.insert(driver.AsString());
  for (const Json& item : object["devices"].items()) {
    PreparedDevice device{
        .device = {item["driver"].AsString(), item["pool"].AsString(), item["device"].AsString()},
        .share_id = item["shareID"].AsString()};
    for (const Json& id : item["cdiIDs"].items()) device.cdi_ids.push_back(id.AsString());
    claim.devices.push_back(std::move(device));
  }
  return claim;
}

}  // namespace

bool ClaimRecord::Holds(const DeviceId& device) const {
  return std::ranges::find(allocated, device, &AllocatedDevice::device) != allocated.end();
}

bool ClaimRecord::IsStale(const Claim& claim) const {
  if (!allocated.empty()) {
    const bool same_time =
        allocated_at.empty() || claim.allocated_at.empty() || allocated_at == claim.allocated_at;
    return !same_time || allocated != claim.devices;
  }
  // A record of an older agent holds only the drivers' answers, and a driver may have named more
  // devices than the claim holds.
  return !devices.empty() && std::ranges::none_of(devices, [&](const PreparedDevice& prepared) {
    return claim.Holds(prepared.device);
  });
}

Status ClaimCheckpoint::Load() {
  // A leftover file is only untidy; the next write reports what is wrong with the directory.
  static_cast<void>(RemoveTemporaryFilesOf(files_, path_));
  const StatusOr<std::string> text = files_.Read(path_);
  if (text.status().code() == Code::kNotFound) return OkStatus();
  RETURN_IF_ERROR(text.status());
  const StatusOr<Json> file = Json::Parse(*text);
  if (!file.ok() || (*file)["version"].AsInt() != kVersion) {
    RETURN_IF_ERROR(files_.Rename(path_, path_ + ".corrupt"));
    return DataLoss("checkpoint {} cannot be read, set aside as {}.corrupt", path_, path_);
  }
  for (const Json& item : (*file)["claims"].items()) {
    ClaimRecord claim = ClaimOf(item);
    // No agent writes more than the bound: such a file is not trusted to fit into memory.
    if (!claim.uid.empty() && !full()) claims_.emplace(claim.uid, std::move(claim));
  }
  return OkStatus();
}

void ClaimCheckpoint::Save(Done done) {
  asked_.push_back(std::move(done));
  if (!busy_) Begin();
}

std::string ClaimCheckpoint::Text() const {
  Json list(Json::Array{});
  for (const auto& [uid, claim] : claims_) list.Append(ClaimJson(claim));
  const Json file = Json::MakeObject({{"version", kVersion}, {"claims", std::move(list)}});
  return file.Dump() + "\n";
}

void ClaimCheckpoint::Begin() {
  busy_ = true;
  writing_ = std::exchange(asked_, {});
  auto write = [&files = files_, path = path_, text = Text()] {
    return Annotate(files.WriteAtomically(path, text), "write checkpoint {}", path);
  };
  if (disk_ == nullptr) return End(write());
  RunFor(liveness_, *disk_, std::move(write), [this](const Status& written) { End(written); });
}

void ClaimCheckpoint::End(const Status& written) {
  const Liveness::Watch watch(liveness_);
  for (const Done& done : std::exchange(writing_, {})) {
    done(written);
    if (!watch.alive()) return;
  }
  busy_ = false;
  if (!asked_.empty()) Begin();
}

ClaimRecord* ClaimCheckpoint::Find(const std::string& uid) {
  const auto it = claims_.find(uid);
  return it == claims_.end() ? nullptr : &it->second;
}

ClaimRecord& ClaimCheckpoint::Add(const ObjectKey& key, const std::string& uid) {
  ClaimRecord& claim = claims_[uid];
  claim.key = key;
  claim.uid = uid;
  return claim;
}

std::vector<std::string> ClaimCheckpoint::ClaimsOfPod(const std::string& pod_uid) const {
  std::vector<std::string> uids;
  for (const auto& [uid, claim] : claims_) {
    if (claim.pods.contains(pod_uid)) uids.push_back(uid);
  }
  return uids;
}

std::string ClaimCheckpoint::FirstCdiId(const std::string& claim_uid, const DeviceId& device,
                                        const std::string& share_id) const {
  const std::vector<std::string> ids = CdiIds(claim_uid, device, share_id);
  return ids.empty() ? "" : ids.front();
}

std::vector<std::string> ClaimCheckpoint::CdiIds(const std::string& claim_uid,
                                                 const DeviceId& device,
                                                 const std::string& share_id) const {
  const auto it = claims_.find(claim_uid);
  if (it == claims_.end()) return {};
  const PreparedDevice* without_share = nullptr;
  for (const PreparedDevice& prepared : it->second.devices) {
    if (prepared.device != device || prepared.cdi_ids.empty()) continue;
    if (prepared.share_id == share_id) return prepared.cdi_ids;
    if (prepared.share_id.empty() && without_share == nullptr) without_share = &prepared;
  }
  // A driver with v1beta1, which has no field for the share, or one that gives all shares one id.
  return without_share == nullptr ? std::vector<std::string>() : without_share->cdi_ids;
}

}  // namespace galen::agent
