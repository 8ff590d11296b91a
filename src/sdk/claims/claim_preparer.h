// Makes claims ready and undoes it: one claim at a time does one thing, different claims at once.
// Doing it again gives the same answer, over a restart too, as long as the claim is allocated as it
// was. Belongs to its loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/files/file_system.h"
#include "base/liveness.h"
#include "base/loop/backoff.h"
#include "galen/driver.h"
#include "sdk/claims/cdi_spec.h"
#include "sdk/claims/prepared_claims.h"
#include "sdk/claims/process_lock.h"
#include "sdk/edges.h"

namespace galen::sdk {

// ---- What a ResourceClaim object gave to one driver on one node. Pure; the seam between the API's
// JSON and what an author is handed (allocated_claim.cc).

// A claim as the kubelet names it.
// All three come from the caller's request and are not checked here.
struct ClaimRef {
  std::string ns;
  std::string name;
  std::string uid;
};

// The part of `object`, a ResourceClaim as the API server gave it, that is `driver`'s: devices and
// opaque parameters. FailedPrecondition when the object is another one of the same name, is not
// allocated, or holds devices of another pool of ours; devices of other drivers are left out, so
// the answer may have none. Other errors are of an object that cannot be decoded.
StatusOr<DeviceClaim> ReadAllocation(const Json& object, const ClaimRef& claim,
                                     std::string_view driver, std::string_view pool);

// When it was allocated, as the API wrote it; "" where it does not say (before 1.34).
std::string AllocationTime(const Json& object);

// The CDI files of this driver's prepared claims, where container runtimes find them: one file a
// claim, written whole or not at all and readable by everybody (0644). Belongs to its loop; the
// calls block shortly. Errors are those of the file system. Two instances of one driver share these
// files: a claim's file is the same whoever writes it.
class CdiStore {
 public:
  // `files` is lent.
  CdiStore(FileSystem& files, std::string root, std::string driver);

  // Replaces the claim's file; writes nothing when it already says so. Makes the directory.
  // REQUIRES: edits that ValidateEdits takes.
  Status Write(std::string_view claim_uid, const ClaimEdits& edits);
  // The devices that the claim's file gives to containers, whatever the claim holds beside them;
  // none when there is no file. DataLoss when it is not one of ours.
  StatusOr<std::vector<std::string>> DevicesOf(std::string_view claim_uid) const;
  // OK when there is none.
  Status Remove(std::string_view claim_uid);
  // What a crash left of writes of these claims' files.
  Status RemoveTemporaryFiles(const std::vector<std::string>& claim_uids);

 private:
  std::string PathOf(std::string_view claim_uid) const;

  FileSystem& files_;
  const std::string root_;
  const std::string driver_;
};

// What a container runtime needs to know of one device of a claim.
struct ReadyDevice {
  std::string request;
  std::string pool;
  std::string device;
  std::string share_id;
  std::vector<std::string> cdi_ids;
  bool operator==(const ReadyDevice&) const = default;
};

// What the kubelet asks for may come twice, late, after a restart or for a claim that is gone; each
// gets the answer that leaves the node right.
class ClaimPreparer {
 public:
  struct Options {
    std::string driver;
    std::string pool;
    std::string cdi_root;
    std::string directory;  // of the records of what was prepared
    std::string lock;       // the file by which processes of the driver take turns
  };
  // Either may be empty.
  struct Handlers {
    std::function<Prepared(const DeviceClaim&)> prepare;
    std::function<std::optional<Failure>(const DeviceClaim&)> unprepare;
  };
  using PrepareDone = std::function<void(StatusOr<std::vector<ReadyDevice>>)>;
  using UnprepareDone = std::function<void(const Status&)>;

  // Prepares asked for and not answered yet, together with unprepares; past it a prepare is refused
  // with ResourceExhausted, and the kubelet asks again. An unprepare is always taken: it is what
  // makes room.
  static constexpr std::size_t kUnderWayMax = 1024;

  // Between two tries to put in order what a start found, each of which waits for ProcessLock.
  static constexpr BackoffPolicy kRecoverAgain{.first = std::chrono::seconds(1),
                                               .most = std::chrono::minutes(1)};

  ClaimPreparer(Edges edges, Options options, Handlers handlers);

  // Once, after a restart, when no other driver can have this one's place: CDI files are as the
  // records of this boot say, and what a crash left of a write is gone. A CDI file without a record
  // stays: a driver of this name with another kubelet root, and the same CDI root, may have it in
  // use. What cannot be put in order now, since another process holds the lock or the disk fails,
  // is logged and tried again for as long as that lasts: a container that is started again in a Pod
  // that runs needs its CDI file, and the kubelet prepares no claim anew for that.
  // The error of ReadBootId where the boot id is hidden: without it no record says whether a reboot
  // has undone it, so nothing may be prepared. REQUIRES: OK before anything is prepared.
  Status Recover();
  // A claim on a device that is not in it is not prepared; what was prepared before is still
  // answered, and can be undone.
  void SetInventory(const Inventory& inventory);

  // Answers once, now or later, on the loop. Statuses: InvalidArgument (no UID, or edits that a
  // runtime would refuse), NotFound (no such claim), FailedPrecondition (another claim of that
  // name, not allocated, a device that is not ours now), Unavailable (the author's Failure),
  // ResourceExhausted, or those of the API server, the disk and ProcessLock. The answer names every
  // device of ours; repeated, it is the same without asking the author again in this boot. A claim
  // that was freed and allocated anew under its UID is unprepared as it was, then prepared as it
  // is. A device that is still prepared for another claim, whose Pod was removed by force and may
  // yet run, is Unavailable until that claim is unprepared, or a person removes its record, which
  // the error names. No object of the API server could say that the Pod's containers have ended.
  // If a claim's record cannot be read, its CDI file shows which devices its containers can have:
  // none if there is no file. If that cannot be read either, no claim is prepared.
  void Prepare(const ClaimRef& claim, PrepareDone done);
  // Needs no claim object, which may be gone. OK also for a claim of which nothing is known.
  // Unavailable is the author's Failure; all is kept then, to be undone later.
  void Unprepare(const ClaimRef& claim, UnprepareDone done);

  // OK when no claim that was prepared in this boot has `device` for itself; otherwise Unavailable
  // says which one, or whatever keeps that from being known. For who gives devices out without
  // claims. REQUIRES: Recover was OK.
  Status CheckFree(const std::string& device);

  std::size_t under_way() const { return under_way_; }
  // Called each time nothing is under way any more, from the loop; for a Stop that waits. One
  // callback.
  void OnIdle(std::function<void()> callback) { on_idle_ = std::move(callback); }

 private:
  // Who has the lock until the work is done, or why nobody has.
  using Locked = StatusOr<ProcessLock::Hold>;

  // Does the work, with the lock, now or behind what the claim does already.
  void Enqueue(const ClaimRef& claim, std::function<void(Locked)> work);
  void TryToPutInOrder();
  Status PutInOrder();
  // The claim is free again: counts, and starts what waits behind.
  void Finish(const std::string& uid, std::string_view operation, const Status& status);
  void StartPrepare(const ClaimRef& claim, PrepareDone done);
  void OnObject(const ClaimRef& claim, const StatusOr<Json>& object, const PrepareDone& done);
  // From the allocation to the CDI file, in the order that survives a crash: record (Preparing),
  // author, CDI file, record (Prepared).
  StatusOr<std::vector<ReadyDevice>> PrepareNow(DeviceClaim claim, std::string allocated_at);
  // The answer of what this boot prepared for this very allocation; nullopt when there is none.
  // What was prepared for another allocation is undone first.
  StatusOr<std::optional<std::vector<ReadyDevice>>> AnswerOfRecord(const DeviceClaim& claim,
                                                                   const std::string& allocated_at);
  // The reverse: author, CDI file, record. Whatever is left after a crash can be done again.
  Status UnprepareNow(const ClaimRef& claim);
  // OK when no device that `claim` has for itself is prepared for another claim in this boot.
  Status CheckNobodyElseHas(const DeviceClaim& claim);
  // The same for one other, `uid`, whose record cannot be read because of `error`.
  Status CheckNotInCdiFile(const DeviceClaim& claim, const std::string& uid, const Status& error);
  StatusOr<ClaimEdits> AskAuthor(const DeviceClaim& claim) const;
  std::vector<ReadyDevice> Answer(const PreparedClaim& prepared) const;

  const Edges edges_;
  const Options options_;
  const Handlers handlers_;
  PreparedClaims records_;
  CdiStore cdi_;
  std::string boot_id_;  // from Recover on
  ProcessLock lock_;
  Backoff recover_backoff_{kRecoverAgain};
  std::string recover_error_;  // that was logged last
  Timer recover_again_;
  std::set<std::string, std::less<>> devices_;
  std::map<std::string, std::deque<Task>> busy_;  // by UID: what waits behind what runs
  // Dropping one cancels it: at the end of this nobody is answered any more.
  std::map<std::string, std::unique_ptr<net::HttpCall>> calls_;  // by UID
  std::size_t under_way_ = 0;
  std::function<void()> on_idle_;
  // Dies with this, so that a posted task finds nobody.
  Liveness liveness_;
};

}  // namespace galen::sdk
