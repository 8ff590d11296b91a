#include "sdk/claims/prepared_claims.h"

#include <algorithm>

#include "base/files/temporary_files.h"
#include "base/text.h"

namespace galen::sdk {
namespace {

// Incremented when an older program would misread the file; that program then puts it aside and
// starts anew.
constexpr int kFormatVersion = 1;
constexpr std::string_view kSuffix = ".json";

Json TextList(const std::vector<std::string>& texts) {
  Json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::vector<std::string> ReadStrings(const Json& json) {
  std::vector<std::string> texts;
  for (const Json& item : json.items()) texts.push_back(item.AsString());
  return texts;
}

Json EditsRecord(const CdiEdits& edits) {
  Json json = Json::MakeObject({{"env", TextList(edits.env)}});
  for (const auto& node : edits.device_nodes) {
    json["deviceNodes"].Append(Json::MakeObject(
        {{"path", node.path}, {"hostPath", node.host_path}, {"permissions", node.permissions}}));
  }
  for (const auto& mount : edits.mounts) {
    json["mounts"].Append(Json::MakeObject({{"hostPath", mount.host_path},
                                            {"containerPath", mount.container_path},
                                            {"options", TextList(mount.options)}}));
  }
  for (const auto& hook : edits.hooks) {
    json["hooks"].Append(Json::MakeObject({{"name", hook.name},
                                           {"path", hook.path},
                                           {"args", TextList(hook.args)},
                                           {"env", TextList(hook.env)}}));
  }
  return json;
}

CdiEdits ReadEdits(const Json& json) {
  CdiEdits edits{.env = ReadStrings(json["env"])};
  for (const Json& node : json["deviceNodes"].items()) {
    edits.device_nodes.push_back({.path = node["path"].AsString(),
                                  .host_path = node["hostPath"].AsString(),
                                  .permissions = node["permissions"].AsString()});
  }
  for (const Json& mount : json["mounts"].items()) {
    edits.mounts.push_back({.host_path = mount["hostPath"].AsString(),
                            .container_path = mount["containerPath"].AsString(),
                            .options = ReadStrings(mount["options"])});
  }
  for (const Json& hook : json["hooks"].items()) {
    edits.hooks.push_back({.name = hook["name"].AsString(),
                           .path = hook["path"].AsString(),
                           .args = ReadStrings(hook["args"]),
                           .env = ReadStrings(hook["env"])});
  }
  return edits;
}

Json ClaimJson(const DeviceClaim& claim) {
  Json json = Json::MakeObject({{"namespace", claim.ns}, {"name", claim.name}, {"uid", claim.uid}});
  for (const DeviceClaim::Held& held : claim.devices) {
    json["devices"].Append(Json::MakeObject({{"device", held.device},
                                             {"request", held.request},
                                             {"shareID", held.share_id},
                                             {"adminAccess", held.admin_access}}));
  }
  for (const DeviceClaim::Config& config : claim.configs) {
    json["configs"].Append(Json::MakeObject({{"parameters", config.parameters},
                                             {"requests", TextList(config.requests)},
                                             {"fromClass", config.from_class}}));
  }
  return json;
}

DeviceClaim ReadClaim(const Json& json) {
  DeviceClaim claim{.ns = json["namespace"].AsString(),
                    .name = json["name"].AsString(),
                    .uid = json["uid"].AsString(),
                    .devices = {},
                    .configs = {}};
  for (const Json& held : json["devices"].items()) {
    claim.devices.push_back({.device = held["device"].AsString(),
                             .request = held["request"].AsString(),
                             .share_id = held["shareID"].AsString(),
                             .admin_access = held["adminAccess"].AsBool()});
  }
  for (const Json& config : json["configs"].items()) {
    claim.configs.push_back({.parameters = config["parameters"].AsString(),
                             .requests = ReadStrings(config["requests"]),
                             .from_class = config["fromClass"].AsBool()});
  }
  return claim;
}

}  // namespace

Status ValidateClaimUid(std::string_view uid) {
  if (IsDnsLabel(uid)) return OkStatus();
  return InvalidArgument("\"{}\" is no valid claim UID", Printable(CutText(uid, 80)));
}

Json ToJson(const PreparedClaim& prepared) {
  Json json = Json::MakeObject(
      {{"version", kFormatVersion},
       {"state", prepared.state == PreparedClaim::State::kPrepared ? "Prepared" : "Preparing"},
       {"bootID", prepared.boot_id},
       {"allocatedAt", prepared.allocated_at},
       {"pool", prepared.pool},
       {"claim", ClaimJson(prepared.claim)},
       {"edits", Json::Object{}}});
  for (const auto& [device, edits] : prepared.edits.devices)
    json["edits"][device] = EditsRecord(edits);
  return json;
}

StatusOr<PreparedClaim> ParsePreparedClaim(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  if (json["version"].AsInt() != kFormatVersion) {
    return InvalidArgument("version {} is not {}", json["version"].Dump(), kFormatVersion);
  }
  const std::string& state = json["state"].AsString();
  if (state != "Prepared" && state != "Preparing") {
    return InvalidArgument("state {} is neither Prepared nor Preparing", json["state"].Dump());
  }
  PreparedClaim prepared{.claim = ReadClaim(json["claim"]),
                         .allocated_at = json["allocatedAt"].AsString(),
                         .pool = json["pool"].AsString(),
                         .state = state == "Prepared" ? PreparedClaim::State::kPrepared
                                                      : PreparedClaim::State::kPreparing,
                         .boot_id = json["bootID"].AsString(),
                         .edits = {}};
  RETURN_IF_ERROR(ValidateClaimUid(prepared.claim.uid));
  for (const auto& [device, edits] : json["edits"].members()) {
    prepared.edits.devices.emplace(device, ReadEdits(edits));
  }
  return prepared;
}

PreparedClaims::PreparedClaims(FileSystem& files, Log& log, std::string directory)
    : files_(files), log_(log), directory_(std::move(directory)) {}

StatusOr<std::optional<PreparedClaim>> PreparedClaims::Find(std::string_view claim_uid) {
  StatusOr<std::optional<PreparedClaim>> found = Look(claim_uid);
  if (found.status().code() != Code::kDataLoss) return found;
  const std::string path = PathOf(claim_uid);
  log_.Error("the record of a prepared claim is broken, the claim counts as not prepared",
             {{"error", found.status().message()}, {"kept_as", path + ".corrupt"}});
  // A prepare is done anew, an unprepare has nothing to undo. The file stays for a person.
  RETURN_IF_ERROR(files_.Rename(path, path + ".corrupt"));
  return std::optional<PreparedClaim>();
}

StatusOr<std::optional<PreparedClaim>> PreparedClaims::Look(std::string_view claim_uid) const {
  RETURN_IF_ERROR(ValidateClaimUid(claim_uid));
  const std::string path = PathOf(claim_uid);
  const StatusOr<std::string> text = files_.Read(path);
  if (!text.ok() && text.status().code() == Code::kNotFound) return std::optional<PreparedClaim>();
  if (!text.ok()) return Annotate(text.status(), "read what was prepared");
  StatusOr<PreparedClaim> prepared = ParsePreparedClaim(*text);
  if (!prepared.ok()) return DataLoss("{}: {}", path, prepared.status().message());
  // A file that was copied to another's name must not answer for it.
  if (prepared->claim.uid != claim_uid) {
    return DataLoss("{}: it is the record of claim {}", path, prepared->claim.uid);
  }
  return std::optional<PreparedClaim>(std::move(*prepared));
}

Status PreparedClaims::Save(const PreparedClaim& prepared) {
  RETURN_IF_ERROR(ValidateClaimUid(prepared.claim.uid));
  // Opaque parameters may hold secrets.
  RETURN_IF_ERROR(files_.MakeDirectories(directory_, 0700));
  return Annotate(files_.WriteAtomically(PathOf(prepared.claim.uid), ToJson(prepared).Dump()),
                  "keep what was prepared");
}

Status PreparedClaims::Remove(std::string_view claim_uid) {
  RETURN_IF_ERROR(ValidateClaimUid(claim_uid));
  return Annotate(files_.Remove(PathOf(claim_uid)), "forget what was prepared");
}

StatusOr<std::vector<std::string>> PreparedClaims::List() {
  const StatusOr<std::vector<std::string>> names = files_.List(directory_);
  if (!names.ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  if (!names.ok()) return Annotate(names.status(), "list what was prepared");
  std::vector<std::string> uids;
  for (const std::string& name : *names) {
    if (!name.ends_with(kSuffix)) continue;
    std::string uid = name.substr(0, name.size() - kSuffix.size());
    if (ValidateClaimUid(uid).ok()) {
      uids.push_back(std::move(uid));
    } else if (logged_.First(name)) {
      log_.Warning("a file among the records of prepared claims is no record and is skipped",
                   {{"file", Printable(directory_ + "/" + name)}});
    }
  }
  return uids;
}

Status PreparedClaims::RemoveTemporaryFiles() {
  return Annotate(
      galen::RemoveTemporaryFiles(files_, directory_,
                                  [](std::string_view name) { return name.ends_with(kSuffix); }),
      "tidy the records of what was prepared");
}

std::string PreparedClaims::PathOf(std::string_view claim_uid) const {
  return fmt::format("{}/{}{}", directory_, claim_uid, kSuffix);
}

}  // namespace galen::sdk
