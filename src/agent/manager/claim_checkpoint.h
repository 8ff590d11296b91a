// Which claims were made ready on this node, for which Pods, and what their drivers answered.
// Written to a checkpoint before a driver is asked, so that a crash leaves no prepared claim
// without a record. Keyed by the claim's uid: a new claim of an old name is another claim.
// Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/holdings/node_view.h"
#include "base/files/disk_queue.h"
#include "base/files/file_system.h"
#include "base/liveness.h"

namespace galen::agent {

// What a driver answered for one device. The first CDI id is the device's resourceID on the Pod;
// none is allowed.
struct PreparedDevice {
  DeviceId device;
  std::string share_id;
  std::vector<std::string> cdi_ids;

  bool operator==(const PreparedDevice&) const = default;
};

// A claim that drivers were asked to prepare, as the checkpoint keeps it over a restart.
struct ClaimRecord {
  ObjectKey key;
  std::string uid;
  // The allocation that drivers were asked to prepare; empty in a checkpoint of an older agent.
  std::vector<AllocatedDevice> allocated;
  std::string allocated_at;
  std::set<std::string> pods;     // uids
  std::set<std::string> drivers;  // that were or may have been asked
  std::vector<PreparedDevice> devices;

  // Whether the device is of the allocation that was prepared.
  bool Holds(const DeviceId& device) const;
  // Whether it was prepared for a former allocation: a claim keeps its UID when it is freed and
  // allocated anew.
  bool IsStale(const Claim& claim) const;

  bool operator==(const ClaimRecord&) const = default;
};

// Kept in memory as a whole and written as a whole; docs/formats/claims.md describes the file. The
// arguments outlive it.
class ClaimCheckpoint final : public PreparedDevices {
 public:
  // At most one page for each claim.
  static constexpr std::size_t kClaimsMax = kNodeClaimsMax;

  // The answer to Save, on the loop.
  using Done = std::function<void(const Status& status)>;

  // `disk` writes the file, so that the loop never waits for it; null: it is written in the call.
  ClaimCheckpoint(FileSystem& files, std::string path, DiskQueue* disk = nullptr)
      : files_(files), path_(std::move(path)), disk_(disk) {}

  // Once, before anything else. A file that is missing is an empty checkpoint. One that cannot be
  // read is set aside as PATH.corrupt and DataLoss says so; the claims of Pods that still exist are
  // prepared again anyway.
  Status Load();
  // Writes the present state; during a write, later together with other changes. `done` is called,
  // in the order of calls and perhaps inside this one, once the state at the call is on disk, or
  // with the error, after which the disk has what it had before. Never after the checkpoint was
  // destroyed.
  void Save(Done done);
  // Whether a write is under way.
  bool busy() const { return busy_; }

  // nullptr when it is not known. The pointer holds until the claim is removed.
  ClaimRecord* Find(const std::string& uid);
  // The claim of that uid, made if it is not there; in memory until Save. REQUIRES: fewer than
  // kClaimsMax, or the claim is known.
  ClaimRecord& Add(const ObjectKey& key, const std::string& uid);
  void Remove(const std::string& uid) { claims_.erase(uid); }
  bool full() const { return claims_.size() >= kClaimsMax; }
  // Uids of the claims that the Pod uses.
  std::vector<std::string> ClaimsOfPod(const std::string& pod_uid) const;
  const std::map<std::string, ClaimRecord>& all() const { return claims_; }

  std::string FirstCdiId(const std::string& claim_uid, const DeviceId& device,
                         const std::string& share_id) const override;
  // All CDI ids, in the driver's order, for a container that sees the device.
  std::vector<std::string> CdiIds(const std::string& claim_uid, const DeviceId& device,
                                  const std::string& share_id) const;

 private:
  std::string Text() const;
  void Begin();
  void End(const Status& written);

  FileSystem& files_;
  const std::string path_;
  DiskQueue* const disk_;
  std::map<std::string, ClaimRecord> claims_;
  // callers that wait for the next write, and for the present one
  std::vector<Done> asked_, writing_;
  bool busy_ = false;
  Liveness liveness_;
};

}  // namespace galen::agent
