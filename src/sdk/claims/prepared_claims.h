// What this driver has prepared on this node, kept on disk so that a restarted driver still knows:
// one file a claim, replaced whole. Nothing is kept in memory, so that two instances of one driver
// (a rolling update) see the same. The format: docs/protocols/registration.md.
// Belongs to its loop; the calls block shortly.
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

// One claim as its file has it: what was prepared and, once that is done, the answer to give.
struct PreparedClaim {
  // kPreparing is written before the author's code runs: after a crash in it, unprepare must still
  // be asked for.
  enum class State { kPreparing, kPrepared };

  DeviceClaim claim;
  // status.allocation.allocationTimestamp of the claim that was prepared, as the API wrote it; ""
  // of an API server before 1.34, and in records of older drivers. A claim keeps its UID when it is
  // freed and allocated anew.
  std::string allocated_at;
  std::string pool;
  State state = State::kPreparing;
  // Which boot of the machine it was prepared in: a reboot undoes the setup of devices.
  std::string boot_id;
  // What the author answered; empty while Preparing.
  ClaimEdits edits;

  // Whether this is what was prepared for: the same devices, shares, requests and parameters, at
  // the same time where both know it.
  bool IsFor(const DeviceClaim& allocated, std::string_view at) const {
    return claim == allocated && (allocated_at.empty() || at.empty() || allocated_at == at);
  }

  bool operator==(const PreparedClaim&) const = default;
};

class PreparedClaims {
 public:
  // `files` and `log` are lent.
  PreparedClaims(FileSystem& files, Log& log, std::string directory);

  // nullopt: nothing is known of it. A file that cannot be understood is put aside under
  // "<name>.corrupt" and counts as nothing known.
  StatusOr<std::optional<PreparedClaim>> Find(std::string_view claim_uid);
  // The same for somebody who asks beside that claim: a file that cannot be understood stays, and
  // is DataLoss with its path. Find puts it aside when its own claim is worked on.
  StatusOr<std::optional<PreparedClaim>> Look(std::string_view claim_uid) const;
  // On disk when it answers OK: one file, written whole, mode 0600 in a directory of mode 0700.
  Status Save(const PreparedClaim& prepared);
  // OK when there is none.
  Status Remove(std::string_view claim_uid);
  // UIDs in order; none when the directory is not there. Files that were put aside are not among
  // them, nor those whose names are no UID, each of which is logged once.
  StatusOr<std::vector<std::string>> List();
  // What a crash left of writes. REQUIRES: no other process writes records now.
  Status RemoveTemporaryFiles();
  // Where the record of the claim is, for people.
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
