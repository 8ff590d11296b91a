// Makes claims ready and undoes it: one claim at a time does one thing, different claims at once.
// Doing it again gives the same answer; a restart or a claim that is gone from the API server
// changes nothing about that. Belongs to its loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "sdk/allocated_claim.h"
#include "sdk/cdi_store.h"
#include "sdk/prepared_claims.h"

namespace galen::sdk {

// What a container runtime needs to know of one device of a claim.
struct ReadyDevice {
  std::string request;
  std::string pool;
  std::string device;
  std::string share_id;
  std::vector<std::string> cdi_ids;
  bool operator==(const ReadyDevice&) const = default;
};

class ClaimPreparer {
 public:
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    kube::Client& api;
    FileSystem& files;
  };
  struct Options {
    std::string driver;
    std::string pool;
    std::string cdi_root;
    std::string directory;  // of the records of what was prepared
  };
  // Either may be empty.
  struct Handlers {
    std::function<Prepared(const DeviceClaim&)> prepare;
    std::function<std::optional<Failure>(const DeviceClaim&)> unprepare;
  };
  using PrepareDone = std::function<void(StatusOr<std::vector<ReadyDevice>>)>;
  using UnprepareDone = std::function<void(const Status&)>;

  // Asked for and not answered yet; past it: ResourceExhausted, and the kubelet asks again.
  static constexpr std::size_t kUnderWayMax = 1024;

  ClaimPreparer(Parts parts, Options options, Handlers handlers);

  // After a restart: CDI files are as the records say, left-over ones are gone.
  void Recover();
  void SetInventory(const Inventory& inventory);

  // Answers once, now or later.
  void Prepare(const ClaimRef& claim, PrepareDone done);
  void Unprepare(const ClaimRef& claim, UnprepareDone done);

  std::size_t under_way() const { return under_way_; }
  // Called each time nothing is under way any more.
  void OnIdle(std::function<void()> callback) { on_idle_ = std::move(callback); }

 private:
  void Enqueue(const ClaimRef& claim, Task task);
  void Finish(const std::string& uid, std::string_view operation, const Status& status);
  void StartPrepare(const ClaimRef& claim, PrepareDone done);
  void OnObject(const ClaimRef& claim, const StatusOr<Json>& object, const PrepareDone& done);
  StatusOr<std::vector<ReadyDevice>> PrepareNow(DeviceClaim claim);
  Status UnprepareNow(const ClaimRef& claim);
  StatusOr<ClaimEdits> AskAuthor(const DeviceClaim& claim) const;
  std::vector<ReadyDevice> Answer(const PreparedClaim& prepared) const;

  Parts parts_;
  const Options options_;
  const Handlers handlers_;
  PreparedClaims records_;
  CdiStore cdi_;
  const std::string boot_id_;
  std::set<std::string, std::less<>> devices_;
  std::map<std::string, std::deque<Task>> busy_;  // by UID: what waits behind what runs
  std::map<std::string, std::unique_ptr<net::HttpCall>> calls_;  // by UID
  std::size_t under_way_ = 0;
  std::function<void()> on_idle_;
  // Dies with this, so that a posted task finds nobody.
  std::shared_ptr<ClaimPreparer*> self_ = std::make_shared<ClaimPreparer*>(this);
};

}  // namespace galen::sdk
