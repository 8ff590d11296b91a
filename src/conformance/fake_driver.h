// A DRA driver that a test writes: good as it is, and broken in one way after the other. Serves
// registration, DRA and health at two places of a FakeNetwork, or on whatever takes its handlers.
// For tests.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "conformance/link.h"
#include "kube/client.h"
#include "rpc/service.h"

namespace galen::conformance {

class FakeDriver {
 public:
  // How it behaves; what is not changed is right.
  struct Script {
    Info info{.type = "DRAPlugin",
              .name = "gpu.example.com",
              .endpoint = "/k/plugins/gpu.example.com/dra.sock",
              .versions = {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                           "v1alpha1.DRAResourceHealth"}};
    // Called for each GetInfo with its number from 0; nullopt: never answers.
    std::function<std::optional<StatusOr<Info>>(int number)> on_get_info;
    bool refuses_unknown_fields = false;
    bool ends_when_refused = false;
    Status notified;  // the answer to NotifyRegistrationStatus

    std::set<std::string> dra_served = {"v1", "v1beta1"};
    std::set<std::string> health_served = {"v1", "v1alpha1"};
    std::vector<DeviceHealthSeen> devices = {{.pool = "node-7", .device = "gpu-0", .health = 1},
                                             {.pool = "node-7", .device = "gpu-1", .health = 1}};
    bool first_report = true;
    Duration repeat_every = std::chrono::seconds(10);  // zero: never
    std::size_t subscribers_max = 64;                  // one more pushes the oldest out
    bool forgets_after_a_loss = false;                 // serves nobody once a reader has left
    Duration ends_streams_after{};                     // zero: never
    // Changes a report before it is sent; `number` is the stream's, from 0.
    std::function<void(const std::string& version, int number,
                       std::vector<DeviceHealthSeen>& devices)>
        on_report;

    // Changes the answer for one claim before it is sent; `number` counts calls of that operation
    // for that claim, from 0. An error given here fails the whole call.
    std::function<Status(const std::string& version, int number, ClaimEntry& entry)> on_prepare;
    std::function<Status(int number, ClaimEntry& entry)> on_unprepare;
    bool hangs_in_prepare = false;  // never answers it
    bool checks_uid = true;
    bool checks_allocation = true;
    bool knows_every_claim = false;        // prepares also what the API server does not have
    bool forgets_unasked_entries = false;  // answers {} to everything
    // What it writes for a device, or "" for nothing.
    std::function<std::string(const std::string& uid, const std::string& device)> cdi_text;
    std::string cdi_id = "gpu.example.com/claim={uid}-{device}";
  };

  // All lent. `api` may be nullptr: then it knows no claim.
  FakeDriver(Loop& loop, FileSystem& files, kube::Client* api, Script script);
  ~FakeDriver();

  Script& script() { return script_; }
  net::HttpHandler& registration() { return registration_; }
  net::HttpHandler& data() { return data_; }
  std::size_t subscribers() const { return subscribers_.size(); }
  int most_subscribers() const { return most_subscribers_; }
  const std::vector<bool>& notified() const { return notified_; }
  // Claims that are prepared now.
  const std::set<std::string>& prepared() const { return prepared_; }
  // Called when it ends because it was refused.
  void OnEnd(std::function<void()> callback) { on_end_ = std::move(callback); }

 private:
  struct Subscriber;
  struct Gathering;
  template <typename Version>
  void AddDra(const std::string& version);
  void AddHealth(const std::string& version);
  void Subscribe(const std::string& version, std::unique_ptr<rpc::StreamWriter> writer);
  void Report(Subscriber& subscriber);
  void Drop(Subscriber* subscriber);
  void PrepareOne(const std::string& version, const ClaimRef& claim,
                  std::function<void(StatusOr<ClaimEntry>)> done);
  StatusOr<ClaimEntry> Decide(const std::string& version, const ClaimRef& claim,
                              const StatusOr<Json>& object);
  StatusOr<ClaimEntry> UnprepareOne(const ClaimRef& claim);

  Loop& loop_;
  FileSystem& files_;
  kube::Client* const api_;
  Script script_;
  rpc::Dispatcher registration_;
  rpc::Dispatcher data_;
  int infos_ = 0;
  std::vector<rpc::Reply> unanswered_;
  std::vector<bool> notified_;
  std::function<void()> on_end_;
  std::list<std::unique_ptr<Subscriber>> subscribers_;
  int most_subscribers_ = 0;
  int streams_ = 0;
  bool lost_one_ = false;
  std::set<std::string> prepared_;
  std::map<std::string, int> prepares_, unprepares_;
  std::list<std::unique_ptr<net::HttpCall>> calls_;
};

}  // namespace galen::conformance
