#include "api_sim/storage/store_log.h"

#include <zlib.h>

#include <algorithm>

#include "api_sim/objects/object_meta.h"
#include "base/files/temporary_files.h"

namespace galen::api_sim {
namespace {

constexpr const char* kSnapshotName = "snapshot";
constexpr const char* kChangesName = "changes";
constexpr const char* kTornName = "changes.torn";
constexpr std::size_t kHeadBytes = 8;  // length and checksum
constexpr std::size_t kRecordBytesMax = 64 * 1024 * 1024;

void AppendNumber(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

std::uint32_t ReadNumber(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::uint32_t Checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string Record(const Json& payload) {
  const std::string text = payload.Dump();
  std::string record;
  AppendNumber(record, static_cast<std::uint32_t>(text.size()));
  AppendNumber(record, Checksum(text));
  return record + text;
}

Json PutPayload(const std::string& collection, const Json& object) {
  return Json::MakeObject({{"collection", collection}, {"object", object}});
}

Json RemovePayload(const std::string& collection, const ObjectKey& key, std::uint64_t version) {
  return Json::MakeObject(
      {{"collection", collection},
       {"removed",
        Json::MakeObject({{"namespace", key.ns}, {"name", key.name}, {"version", version}})}});
}

std::uint64_t VersionIn(const Json& payload) {
  const Json& removed = payload["removed"];
  return removed.is_object() ? static_cast<std::uint64_t>(removed["version"].AsInt())
                             : ResourceVersionOf(payload["object"]);
}

// Passes each valid record to `take` and returns the bytes that they span; the rest is torn.
template <typename Take>
std::size_t ReadRecords(std::string_view bytes, const Take& take) {
  std::size_t at = 0;
  while (bytes.size() - at >= kHeadBytes) {
    const std::size_t length = ReadNumber(bytes.substr(at, 4));
    if (length > kRecordBytesMax || bytes.size() - at - kHeadBytes < length) break;
    const std::string_view text = bytes.substr(at + kHeadBytes, length);
    if (Checksum(text) != ReadNumber(bytes.substr(at + 4, 4))) break;
    const StatusOr<Json> payload = Json::Parse(text);
    if (!payload.ok()) break;
    take(*payload);
    at += kHeadBytes + length;
  }
  return at;
}

}  // namespace

StatusOr<std::unique_ptr<StoreLog>> StoreLog::Open(Loop& loop, FileSystem& files, Log& log,
                                                   std::string directory, ObjectStore& store) {
  std::unique_ptr<StoreLog> kept(new StoreLog(loop, files, log, std::move(directory), store));
  RETURN_IF_ERROR(Annotate(files.MakeDirectories(kept->directory_, 0700), "data directory"));
  RETURN_IF_ERROR(Annotate(kept->Load(), "data directory {}", kept->directory_));
  // After loading: loaded objects are in the log already.
  store.AddListener([raw = kept.get()](const std::string& collection, const Change& change) {
    raw->OnChange(collection, change);
  });
  return kept;
}

Status StoreLog::Load() {
  for (const char* name : {kSnapshotName, kTornName}) {
    RETURN_IF_ERROR(RemoveTemporaryFilesOf(files_, PathOf(name)));
  }
  RETURN_IF_ERROR(LoadSnapshot());
  RETURN_IF_ERROR(LoadChanges());
  if (loaded_version_ > 0) store_.StartAt(loaded_version_ + kVersionGap);
  // Every start begins with one whole snapshot and an empty log, so a torn end is read only once.
  return Fold();
}

Status StoreLog::LoadSnapshot() {
  const StatusOr<std::string> bytes = files_.Read(PathOf(kSnapshotName));
  if (!bytes.ok()) return bytes.status().code() == Code::kNotFound ? OkStatus() : bytes.status();
  const std::size_t read = ReadRecords(*bytes, [this](const Json& payload) { Take(payload); });
  if (read == bytes->size()) return OkStatus();
  return {Code::kDataLoss,
          fmt::format("{} is damaged at byte {}; move the directory away to start empty",
                      PathOf(kSnapshotName), read)};
}

Status StoreLog::LoadChanges() {
  const StatusOr<std::string> bytes = files_.Read(PathOf(kChangesName));
  if (!bytes.ok()) return bytes.status().code() == Code::kNotFound ? OkStatus() : bytes.status();
  // A kill between a new snapshot and the removal of the old log leaves both. Changes that the
  // snapshot contains are not applied again: the log may lack the last ones, and would restore
  // older states.
  const std::uint64_t folded = loaded_version_;
  const std::size_t read = ReadRecords(*bytes, [this, folded](const Json& payload) {
    if (VersionIn(payload) > folded) Take(payload);
  });
  if (read == bytes->size()) return OkStatus();
  log_.Warning("the log of changes ends in a torn record, which is set aside",
               {{"file", PathOf(kTornName)}, {"bytes", bytes->size() - read}});
  return files_.WriteAtomically(PathOf(kTornName), std::string_view(*bytes).substr(read));
}

void StoreLog::Take(const Json& payload) {
  const std::string& collection = payload["collection"].AsString();
  const Json& removed = payload["removed"];
  loaded_version_ = std::max(loaded_version_, VersionIn(payload));
  if (removed.is_object()) {
    store_.Unload(collection, {removed["namespace"].AsString(), removed["name"].AsString()});
    return;
  }
  const Json& object = payload["object"];
  store_.Load(collection, KeyOf(object), object);
}

Status StoreLog::Fold() {
  std::string snapshot;
  for (const std::string& collection : store_.Collections()) {
    for (const Snapshot& object : store_.List(collection, "")) {
      snapshot += Record(PutPayload(collection, *object));
    }
  }
  // A removal of no object stores the newest version, in case no object has it.
  snapshot += Record(RemovePayload("", {}, store_.version()));
  // The new snapshot is in place before the old log is removed: after a crash in between, the log
  // only has changes that the snapshot contains.
  RETURN_IF_ERROR(files_.WriteAtomically(PathOf(kSnapshotName), snapshot));
  changes_.reset();
  RETURN_IF_ERROR(files_.Remove(PathOf(kChangesName)));
  ASSIGN_OR_RETURN(changes_, files_.OpenAppend(PathOf(kChangesName)));
  changes_bytes_ = 0;
  return OkStatus();
}

void StoreLog::OnChange(const std::string& collection, const Change& change) {
  if (trouble_) return;  // the next fold stores this change too
  const std::string record =
      Record(change.after != nullptr ? PutPayload(collection, *change.after)
                                     : RemovePayload(collection, change.key, change.version));
  changes_bytes_ += record.size();
  Conclude(changes_bytes_ > kLogBytesMax ? Fold() : changes_->Append(record));
}

void StoreLog::Conclude(const Status& status) {
  if (status.ok() && trouble_) log_.Info("changes are kept again", {{"directory", directory_}});
  if (!status.ok() && !trouble_) {
    log_.Error("changes are not kept: a restart would lose them",
               {{"directory", directory_}, {"reason", status.message()}});
  }
  trouble_ = !status.ok();
  // The end of the file is unknown after an error, so a whole snapshot is written.
  if (trouble_) retry_ = loop_.After(kRetryAfter, [this] { Conclude(Fold()); });
}

}  // namespace galen::api_sim
