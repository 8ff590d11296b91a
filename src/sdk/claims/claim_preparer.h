// Prepares and unprepares claims: one operation at a time for each claim, different claims in
// parallel. Repeating one gives the same answer, also after a restart, as long as the claim's
// allocation stays the same. Belongs to its loop.
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

// ---- What a ResourceClaim object allocates to one driver on one node. Pure; the boundary between
// the API's JSON and the author's types (allocated_claim.cc).

// A claim as the kubelet names it.
// All three members come from the kubelet's request and are not checked here.
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

// The time of the allocation, as the API wrote it; "" where it is not given (before 1.34).
std::string AllocationTime(const Json& object);

// The CDI files of this driver's prepared claims, where container runtimes find them: one file for
// each claim, written atomically and readable by everybody (0644). Belongs to its loop; the calls
// block shortly. Errors are those of the file system. Two instances of one driver share these
// files: a claim's file is the same whoever writes it.
class CdiStore {
 public:
  // `files` is borrowed.
  CdiStore(FileSystem& files, std::string root, std::string driver);

  // Replaces the claim's file; writes nothing when the content is the same. Makes the directory.
  // REQUIRES: edits that ValidateEdits takes.
  Status Write(std::string_view claim_uid, const ClaimEdits& edits);
  // The devices in the claim's CDI file; none when there is no file. DataLoss when the file is not
  // one of ours.
  StatusOr<std::vector<std::string>> DevicesOf(std::string_view claim_uid) const;
  // OK when there is none.
  Status Remove(std::string_view claim_uid);
  // Removes what a crash left of unfinished writes of these claims' files.
  Status RemoveTemporaryFiles(const std::vector<std::string>& claim_uids);

 private:
  std::string PathOf(std::string_view claim_uid) const;

  FileSystem& files_;
  const std::string root_;
  const std::string driver_;
};

// What a container runtime needs for one device of a claim.
struct ReadyDevice {
  std::string request;
  std::string pool;
  std::string device;
  std::string share_id;
  std::vector<std::string> cdi_ids;
  bool operator==(const ReadyDevice&) const = default;
};

// The kubelet's requests may come twice, late, after a restart or for a claim that is gone; each
// gets an answer that leaves the node in a correct state.
class ClaimPreparer {
 public:
  // The driver's identity and its paths.
  struct Options {
    std::string driver;
    std::string pool;
    std::string cdi_root;
    std::string directory;  // of the records of what was prepared
    std::string lock;       // the file that lets only one of the driver's processes work at a time
  };
  // Either may be empty.
  struct Handlers {
    std::function<Prepared(const DeviceClaim&)> prepare;
    std::function<std::optional<Failure>(const DeviceClaim&)> unprepare;
  };
  using PrepareDone = std::function<void(StatusOr<std::vector<ReadyDevice>>)>;
  using UnprepareDone = std::function<void(const Status&)>;

  // The most unanswered prepares and unprepares; beyond it a prepare is refused with
  // ResourceExhausted, and the kubelet asks again. An unprepare is always accepted, since it makes
  // room.
  static constexpr std::size_t kUnderWayMax = 1024;

  // The delay before the next try of Recover's work, each of which waits for ProcessLock.
  static constexpr BackoffPolicy kRecoverAgain{.first = std::chrono::seconds(1),
                                               .most = std::chrono::minutes(1)};

  ClaimPreparer(Edges edges, Options options, Handlers handlers);

  // Once, after a start, when the driver owns its sockets: makes the CDI files match the records of
  // this boot, and removes what a crash left of unfinished writes. A CDI file without a record
  // stays: a driver of this name with another kubelet root, and the same CDI root, may have it in
  // use. Work that fails now, because another process holds the lock or the disk fails, is logged
  // and tried again until it succeeds: a container that is started again in a Pod that runs needs
  // its CDI file, and the kubelet prepares no claim anew for that.
  // The error of ReadBootId where the boot id is hidden: without it nobody can see whether a reboot
  // has undone a record's setup, so nothing may be prepared. REQUIRES: OK before anything is
  // prepared.
  Status Recover();
  // A claim on a device that is not in the inventory is not prepared; earlier prepares are still
  // answered, and can be undone.
  void SetInventory(const Inventory& inventory);

  // Answers once, now or later, on the loop. Statuses: InvalidArgument (no UID, or edits that a
  // runtime would refuse), NotFound (no such claim), FailedPrecondition (another claim of that
  // name, not allocated, a device that is not ours now), Unavailable (the author's Failure),
  // ResourceExhausted, or those of the API server, the disk and ProcessLock. The answer names every
  // device of ours; repeated, it is the same without asking the author again in this boot. A claim
  // that was freed and allocated anew under its UID is first unprepared, then prepared for the new
  // allocation. A device that is still prepared for another claim, whose Pod was removed by force
  // and may yet run, is Unavailable until that claim is unprepared, or a person removes its record,
  // which the error names. No object of the API server could say that the Pod's containers have
  // ended.
  // If a claim's record cannot be read, its CDI file shows which devices its containers can have:
  // none if there is no file. If that cannot be read either, no claim is prepared.
  void Prepare(const ClaimRef& claim, PrepareDone done);
  // Needs no claim object, which may be gone. OK also for an unknown claim. Unavailable is the
  // author's Failure; the record is kept then, for a later try.
  void Unprepare(const ClaimRef& claim, UnprepareDone done);

  // OK when no claim that was prepared in this boot holds `device` exclusively; otherwise
  // Unavailable names the claim, or why that is not known. For the device plugin. REQUIRES: Recover
  // was OK.
  Status CheckFree(const std::string& device);

  std::size_t under_way() const { return under_way_; }
  // Sets the one callback that is called, from the loop, each time no work is under way any more;
  // for Stop.
  void OnIdle(std::function<void()> callback) { on_idle_ = std::move(callback); }

 private:
  // The lock, held until the work is done, or the reason why it was not obtained.
  using Locked = StatusOr<ProcessLock::Hold>;

  // Does the work, with the lock, now or after the claim's earlier work.
  void Enqueue(const ClaimRef& claim, std::function<void(Locked)> work);
  void TryToPutInOrder();
  Status PutInOrder();
  // The claim's work is done: counts it, and starts what waits behind it.
  void Finish(const std::string& uid, std::string_view operation, const Status& status);
  void StartPrepare(const ClaimRef& claim, PrepareDone done);
  void OnObject(const ClaimRef& claim, const StatusOr<Json>& object, const PrepareDone& done);
  // From the allocation to the CDI file, in the order that survives a crash: record (Preparing),
  // author, CDI file, record (Prepared).
  StatusOr<std::vector<ReadyDevice>> PrepareNow(DeviceClaim claim, std::string allocated_at);
  // The recorded answer for this allocation in this boot; nullopt when there is none. A prepare for
  // another allocation is undone first.
  StatusOr<std::optional<std::vector<ReadyDevice>>> AnswerOfRecord(const DeviceClaim& claim,
                                                                   const std::string& allocated_at);
  // The reverse: author, CDI file, record. A crash in between leaves nothing that cannot be
  // repeated.
  Status UnprepareNow(const ClaimRef& claim);
  // OK when no device that `claim` holds exclusively is prepared for another claim in this boot.
  Status CheckNobodyElseHas(const DeviceClaim& claim);
  // The same check against the claim `uid`, whose record cannot be read because of `error`.
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
  std::string recover_error_;  // the last error that was logged
  Timer recover_again_;
  std::set<std::string, std::less<>> devices_;
  std::map<std::string, std::deque<Task>> busy_;  // by UID: the queue behind the work under way
  // Destroying a call cancels it: after this object's end no caller is answered.
  std::map<std::string, std::unique_ptr<net::HttpCall>> calls_;  // by UID
  std::size_t under_way_ = 0;
  std::function<void()> on_idle_;
  // Dies with this, so that a posted task does nothing afterwards.
  Liveness liveness_;
};

}  // namespace galen::sdk
