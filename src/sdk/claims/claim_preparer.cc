#include "sdk/claims/claim_preparer.h"

#include <algorithm>
#include <utility>

#include "base/files/boot_id.h"
#include "kube/request.h"

namespace galen::sdk {
namespace {

// The kubelet shows the text on the Pod, where a person reads it.
Status ExplainGet(const Status& status, const ClaimRef& claim) {
  if (status.code() == Code::kNotFound) {
    return NotFound("ResourceClaim {}/{} does not exist", claim.ns, claim.name);
  }
  const Status failure = Annotate(status, "get ResourceClaim {}/{}", claim.ns, claim.name);
  if (!IsRetryable(failure)) return failure;
  return {failure.code(), failure.message() + "; the kubelet will ask again"};
}

// Whether no other claim may have the device at the same time.
bool IsForItself(const DeviceClaim::Held& held) {
  return held.share_id.empty() && !held.admin_access;
}

// The first device that both claims hold exclusively; "" when there is none.
std::string DeviceOfBoth(const DeviceClaim& one, const DeviceClaim& other) {
  for (const DeviceClaim::Held& held : one.devices) {
    const bool both = IsForItself(held) && std::ranges::any_of(other.devices, [&](const auto& its) {
                        return IsForItself(its) && its.device == held.device;
                      });
    if (both) return held.device;
  }
  return "";
}

}  // namespace

ClaimPreparer::ClaimPreparer(Edges edges, Options options, Handlers handlers)
    : edges_(edges),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      records_(edges_.files, edges_.log, options_.directory),
      cdi_(edges_.files, options_.cdi_root, options_.driver),
      lock_(edges_.loop, edges_.files, options_.lock) {
  edges_.metrics.DeclareCounter("galen_driver_claims_total",
                                "Claims prepared and unprepared, by operation and result.");
}

Status ClaimPreparer::Recover() {
  const StatusOr<std::string> boot_id = ReadBootId(edges_.files);
  if (!boot_id.ok()) {
    return Annotate(boot_id.status(),
                    "the boot id, which shows what a reboot has undone, cannot be read "
                    "(ProcSubset=pid in a systemd unit hides it: remove that)");
  }
  boot_id_ = *boot_id;
  TryToPutInOrder();
  return OkStatus();
}

void ClaimPreparer::TryToPutInOrder() {
  lock_.Take([this](const Locked& lock) {
    const Status status = lock.ok() ? PutInOrder() : lock.status();
    if (status.ok()) return;
    recover_again_ =
        edges_.loop.After(recover_backoff_.Next(edges_.random), [this] { TryToPutInOrder(); });
    if (std::exchange(recover_error_, status.message()) == status.message()) return;
    edges_.log.Warning("what was prepared before could not be put in order, trying again",
                       {{"error", status.message()}});
  });
}

Status ClaimPreparer::PutInOrder() {
  const StatusOr<std::vector<std::string>> uids = records_.List();
  if (!uids.ok()) return Annotate(uids.status(), "list what was prepared");
  // Only the holder of this lock writes such files, so none of them is being written.
  Status status = records_.RemoveTemporaryFiles();
  if (Status removed = cdi_.RemoveTemporaryFiles(*uids); !removed.ok()) status = removed;
  for (const std::string& uid : *uids) {
    const auto record = records_.Look(uid);
    if (!record.ok()) {
      edges_.log.Error(
          "a record of a prepared claim cannot be read; a prepare of its devices says "
          "what to do",
          {{"claim", uid}, {"error", record.status().message()}});
    }
    // A claim that was prepared in another boot is prepared anew when the kubelet asks.
    if (!record.ok() || !record->has_value() || (*record)->boot_id != boot_id_) continue;
    if ((*record)->edits.devices.empty()) continue;
    if (Status written = cdi_.Write(uid, (*record)->edits); !written.ok()) status = written;
  }
  return status;
}

void ClaimPreparer::SetInventory(const Inventory& inventory) {
  devices_.clear();
  for (const Device& device : inventory) devices_.insert(device.name);
}

void ClaimPreparer::Prepare(const ClaimRef& claim, PrepareDone done) {
  if (Status status = ValidateClaimUid(claim.uid); !status.ok()) return done(status);
  if (under_way_ >= kUnderWayMax) {
    return done(ResourceExhausted("{} claims are under way already; the kubelet will ask again",
                                  under_way_));
  }
  Enqueue(claim, [this, claim, done = std::move(done)](const Locked& lock) {
    // Locked from before the claim is read until its files are written: otherwise another process
    // may unprepare it before the API server answers.
    PrepareDone finish = [this, uid = claim.uid, done,
                          lock](StatusOr<std::vector<ReadyDevice>> ready) {
      const Status status = ready.status();
      done(std::move(ready));
      Finish(uid, "prepare", status);
    };
    if (!lock.ok()) return finish(lock.status());
    StartPrepare(claim, std::move(finish));
  });
}

void ClaimPreparer::Unprepare(const ClaimRef& claim, UnprepareDone done) {
  if (Status status = ValidateClaimUid(claim.uid); !status.ok()) return done(status);
  Enqueue(claim, [this, claim, done = std::move(done)](const Locked& lock) {
    const Status status = lock.ok() ? UnprepareNow(claim) : lock.status();
    done(status);
    Finish(claim.uid, "unprepare", status);
  });
}

void ClaimPreparer::Enqueue(const ClaimRef& claim, std::function<void(Locked)> work) {
  ++under_way_;
  Task task = [this, work = std::move(work)] { lock_.Take(work); };
  const auto [it, first] = busy_.try_emplace(claim.uid);
  // Queued behind this claim's work under way: prepare and unprepare of one claim never overlap.
  if (!first) {
    it->second.push_back(std::move(task));
    return;
  }
  task();
}

void ClaimPreparer::Finish(const std::string& uid, std::string_view operation,
                           const Status& status) {
  edges_.metrics.Add("galen_driver_claims_total",
                     {{"operation", operation}, {"result", status.ok() ? "ok" : "error"}});
  if (!status.ok()) {
    edges_.log.Warning("a claim could not be handled",
                       {{"operation", operation}, {"claim", uid}, {"error", status.message()}});
  }
  --under_way_;
  const auto it = busy_.find(uid);
  if (it->second.empty()) {
    busy_.erase(it);
  } else {
    // Posted, so that a long queue for one claim does not become a deep stack.
    edges_.loop.Post(
        [watch = Liveness::Watch(liveness_), task = std::move(it->second.front())]() mutable {
          if (watch.alive()) task();
        });
    it->second.pop_front();
  }
  if (under_way_ == 0 && on_idle_) on_idle_();
}

void ClaimPreparer::StartPrepare(const ClaimRef& claim, PrepareDone done) {
  // Always read from the API server: a record only shows a former allocation.
  calls_[claim.uid] =
      edges_.api.Do(kube::Get(kube::kResourceClaims, claim.ns, claim.name),
                    [this, claim, done = std::move(done)](const StatusOr<Json>& object) {
                      OnObject(claim, object, done);
                    });
}

void ClaimPreparer::OnObject(const ClaimRef& claim, const StatusOr<Json>& object,
                             const PrepareDone& done) {
  // Kept until this function returns: it runs inside the call that is removed here.
  const auto call = calls_.extract(claim.uid);
  if (!object.ok()) return done(ExplainGet(object.status(), claim));
  StatusOr<DeviceClaim> ours = ReadAllocation(*object, claim, options_.driver, options_.pool);
  if (!ours.ok()) return done(ours.status());
  done(PrepareNow(std::move(*ours), AllocationTime(*object)));
}

StatusOr<std::optional<std::vector<ReadyDevice>>> ClaimPreparer::AnswerOfRecord(
    const DeviceClaim& claim, const std::string& allocated_at) {
  using None = std::optional<std::vector<ReadyDevice>>;
  ASSIGN_OR_RETURN(std::optional<PreparedClaim> record, records_.Find(claim.uid));
  if (!record) return None();
  if (!record->IsFor(claim, allocated_at)) {
    RETURN_IF_ERROR(Annotate(UnprepareNow({claim.ns, claim.name, claim.uid}),
                             "undo what was prepared for the claim's former allocation"));
    return None();
  }
  // A record in state Preparing was left by a crash in the author's code, or by its Failure: the
  // handler is called again. A reboot undoes the setup of devices.
  if (record->state != PreparedClaim::State::kPrepared || record->boot_id != boot_id_) {
    return None();
  }
  // The CDI directory is usually a tmpfs that a reboot empties; nothing is written when the file is
  // right.
  if (!record->edits.devices.empty()) RETURN_IF_ERROR(cdi_.Write(claim.uid, record->edits));
  // A record of an older driver or API server lacks the time; it is added, so that the next
  // allocation can be recognised.
  if (record->allocated_at.empty() && !allocated_at.empty()) {
    record->allocated_at = allocated_at;
    RETURN_IF_ERROR(records_.Save(*record));
  }
  return None(Answer(*record));
}

StatusOr<std::vector<ReadyDevice>> ClaimPreparer::PrepareNow(DeviceClaim claim,
                                                             std::string allocated_at) {
  ASSIGN_OR_RETURN(std::optional<std::vector<ReadyDevice>> known,
                   AnswerOfRecord(claim, allocated_at));
  if (known) return *std::move(known);
  for (const DeviceClaim::Held& held : claim.devices) {
    if (!devices_.contains(held.device)) {
      return FailedPrecondition("device {} is not in this driver's inventory now", held.device);
    }
  }
  RETURN_IF_ERROR(CheckNobodyElseHas(claim));
  PreparedClaim record{.claim = std::move(claim),
                       .allocated_at = std::move(allocated_at),
                       .pool = options_.pool,
                       .state = PreparedClaim::State::kPreparing,
                       .boot_id = boot_id_,
                       .edits = {}};
  RETURN_IF_ERROR(records_.Save(record));
  ASSIGN_OR_RETURN(record.edits, AskAuthor(record.claim));
  if (!record.edits.devices.empty()) RETURN_IF_ERROR(cdi_.Write(record.claim.uid, record.edits));
  record.state = PreparedClaim::State::kPrepared;
  RETURN_IF_ERROR(records_.Save(record));
  edges_.log.Info("claim is prepared", {{"claim", record.claim.ns + "/" + record.claim.name},
                                        {"uid", record.claim.uid},
                                        {"devices", record.claim.devices.size()}});
  return Answer(record);
}

Status ClaimPreparer::UnprepareNow(const ClaimRef& claim) {
  ASSIGN_OR_RETURN(const std::optional<PreparedClaim> record, records_.Find(claim.uid));
  if (record && handlers_.unprepare) {
    if (const std::optional<Failure> failure = handlers_.unprepare(record->claim)) {
      return Unavailable("{}",
                         failure->message.empty() ? "the driver gave no reason" : failure->message);
    }
  }
  RETURN_IF_ERROR(cdi_.Remove(claim.uid));
  RETURN_IF_ERROR(records_.Remove(claim.uid));
  if (record) edges_.log.Info("claim is unprepared", {{"uid", claim.uid}});
  return OkStatus();
}

// The scheduler gives a device to one claim at a time, but it considers a Pod that was deleted by
// force as ended, although its node may still run it. The unprepare that follows its end would undo
// what was set up for the next claim, too.
Status ClaimPreparer::CheckNobodyElseHas(const DeviceClaim& claim) {
  ASSIGN_OR_RETURN(const std::vector<std::string> uids, records_.List());
  for (const std::string& uid : uids) {
    if (uid == claim.uid) continue;
    const StatusOr<std::optional<PreparedClaim>> other = records_.Look(uid);
    if (!other.ok()) {
      RETURN_IF_ERROR(CheckNotInCdiFile(claim, uid, other.status()));
      continue;
    }
    // Containers of an earlier boot no longer run.
    if (!other->has_value() || (*other)->boot_id != boot_id_) continue;
    const DeviceClaim& its = (*other)->claim;
    const std::string device = DeviceOfBoth(claim, its);
    if (device.empty()) continue;
    return Unavailable(
        "device {} is still prepared for ResourceClaim {}/{} (UID {}), whose Pod has not ended on "
        "this node; the kubelet unprepares it and asks again. A kubelet that lost its state never "
        "does: then, and once no container of that Pod runs here, remove {}",
        device, its.ns, its.name, uid, records_.PathOf(uid));
  }
  return OkStatus();
}

Status ClaimPreparer::CheckFree(const std::string& device) {
  return CheckNobodyElseHas({.ns = {},
                             .name = {},
                             .uid = {},
                             .devices = {{.device = device, .request = {}, .share_id = {}}},
                             .configs = {}});
}

Status ClaimPreparer::CheckNotInCdiFile(const DeviceClaim& claim, const std::string& uid,
                                        const Status& error) {
  const StatusOr<std::vector<std::string>> devices = cdi_.DevicesOf(uid);
  const auto is_in_it = [&](const DeviceClaim::Held& held) {
    return IsForItself(held) && (!devices.ok() || std::ranges::count(*devices, held.device) > 0);
  };
  const auto held = std::ranges::find_if(claim.devices, is_in_it);
  if (held == claim.devices.end()) return OkStatus();
  return Unavailable(
      "device {} may still be in use by ResourceClaim UID {}: {}{}. The kubelet's unprepare of "
      "that claim frees it; if none comes, and no container of that claim's Pod runs here, remove "
      "{}",
      held->device, uid, error.message(),
      devices.ok() ? ", and its CDI file has the device" : "; " + devices.status().message(),
      records_.PathOf(uid));
}

StatusOr<ClaimEdits> ClaimPreparer::AskAuthor(const DeviceClaim& claim) const {
  ClaimEdits edits;
  if (!handlers_.prepare) return edits;
  Prepared answer = handlers_.prepare(claim);
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    return Unavailable("{}",
                       failure->message.empty() ? "the driver gave no reason" : failure->message);
  }
  // Every device has an entry, so that each has a CDI id, even one without edits.
  for (const DeviceClaim::Held& held : claim.devices) edits.devices[held.device];
  if (auto* by_device = std::get_if<std::map<std::string, CdiEdits>>(&answer)) {
    for (auto& [device, device_edits] : *by_device) {
      const auto it = edits.devices.find(device);
      if (it == edits.devices.end()) {
        // A mistake of the author: ignored, it would give a container a device that its claim does
        // not hold.
        return Internal("the driver prepared device {}, which the claim does not hold", device);
      }
      it->second = std::move(device_edits);
    }
  } else {
    for (auto& [device, device_edits] : edits.devices) device_edits = std::get<CdiEdits>(answer);
  }
  for (const auto& [device, device_edits] : edits.devices) {
    RETURN_IF_ERROR(Annotate(ValidateEdits(device_edits), "CDI edits of device {}", device));
  }
  // A device without edits gets no CDI id: runtimes refuse a whole spec file that holds one
  // (container-device-interface, "empty device edits").
  std::erase_if(edits.devices, [](const auto& entry) { return entry.second == CdiEdits{}; });
  return edits;
}

std::vector<ReadyDevice> ClaimPreparer::Answer(const PreparedClaim& prepared) const {
  std::vector<ReadyDevice> ready;
  for (const DeviceClaim::Held& held : prepared.claim.devices) {
    ReadyDevice device{.request = held.request,
                       .pool = prepared.pool,
                       .device = held.device,
                       .share_id = held.share_id,
                       .cdi_ids = {}};
    if (prepared.edits.devices.contains(held.device)) {
      device.cdi_ids.push_back(CdiId(options_.driver, prepared.claim.uid, held.device));
    }
    ready.push_back(std::move(device));
  }
  return ready;
}

}  // namespace galen::sdk
