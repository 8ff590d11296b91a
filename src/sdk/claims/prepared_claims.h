// The record of what this driver has prepared on this node, kept on disk for a restarted driver:
// one file for each claim, replaced whole. Nothing is cached in memory, so that two instances of
// one driver (a rolling update) see the same. The format: docs/protocols/registration.md. Belongs
// to its loop; the calls block shortly.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_system.h"
#include "base/log.h"
#include "base/repeated_log.h"
#include "galen/driver.h"
#include "sdk/claims/cdi_spec.h"

namespace galen::sdk {

// One claim's record: what was prepared and, once that is done, the answer to give.
struct PreparedClaim {
  // kPreparing is written before the author's code runs: after a crash in it, unprepare must still
  // be called.
  enum class State { kPreparing, kPrepared };

  DeviceClaim claim;
  // status.allocation.allocationTimestamp of the claim that was prepared, as the API wrote it; ""
  // of an API server before 1.34, and in records of older drivers. A claim keeps its UID when it is
  // freed and allocated anew.
  std::string allocated_at;
  std::string pool;
  State state = State::kPreparing;
  // The boot in which it was prepared: a reboot undoes the setup of devices.
  std::string boot_id;
  // What the author answered; empty while Preparing.
  ClaimEdits edits;

  // Whether this record is for that allocation: the same devices, shares, requests and parameters,
  // and the same time where both have one.
  bool IsFor(const DeviceClaim& allocated, std::string_view at) const {
    return claim == allocated && (allocated_at.empty() || at.empty() || allocated_at == at);
  }

  bool operator==(const PreparedClaim&) const = default;
};

class PreparedClaims {
 public:
  // `files` and `log` are borrowed.
  PreparedClaims(FileSystem& files, Log& log, std::string directory);

  // nullopt: there is no record. An unreadable file is put aside as "<name>.corrupt" and counts as
  // no record.
  StatusOr<std::optional<PreparedClaim>> Find(std::string_view claim_uid);
  // The same, but an unreadable file stays in place and is DataLoss with its path; for work on
  // another claim. Find puts it aside when its own claim is worked on.
  StatusOr<std::optional<PreparedClaim>> Look(std::string_view claim_uid) const;
  // OK once the record is on disk: one file, written whole, mode 0600 in a directory of mode 0700.
  Status Save(const PreparedClaim& prepared);
  // OK when there is none.
  Status Remove(std::string_view claim_uid);
  // UIDs in order; none when the directory does not exist. Skips files that were put aside, and
  // those whose names are no UID, which are logged once each.
  StatusOr<std::vector<std::string>> List();
  // Removes what a crash left of unfinished writes. REQUIRES: no other process writes records now.
  Status RemoveTemporaryFiles();
  // The path of the claim's record, for messages.
  std::string PathOf(std::string_view claim_uid) const;

 private:
  FileSystem& files_;
  Log& log_;
  const std::string directory_;
  LogOnce logged_;  // by name
};

// OK when `uid` can be part of a file's name and of a CDI name, as every UID of Kubernetes can.
Status ValidateClaimUid(std::string_view uid);

Json ToJson(const PreparedClaim& prepared);
// InvalidArgument for another version, state or UID, or the parser's error; members that are not
// known are skipped.
StatusOr<PreparedClaim> ParsePreparedClaim(std::string_view text);

}  // namespace galen::sdk
