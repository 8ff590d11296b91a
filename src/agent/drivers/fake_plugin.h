// A driver on a FakeNetwork: registers, prepares, reports health, and misbehaves when asked to.
// For tests. Belongs to its loop; the arguments outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/drivers/fake_socket_directory.h"
#include "base/loop/loop.h"
#include "model/claim.h"
#include "net/fake_link.h"
#include "rpc/service.h"

namespace galen::agent {

// A device as a driver reports it; with a code it is a driver of Galen's own kind.
struct FakeReport {
  std::string device;
  int health = 1;  // 0 unknown, 1 healthy, 2 unhealthy
  std::string message = {};
  int timeout_seconds = 0;
  std::string code = {};
  std::int64_t sign_unix_nanos = 0;
  bool degraded = false;
  double share = 1;
  std::string serial = {};
  std::string model = {};
  std::string sign = {};
  std::string owner = {};  // "Hardware"
  std::string uuid = {};
  std::string pci_address = {};
};

// A NodeWatchResourcesResponse, encoded.
std::string EncodeReport(const std::string& pool, const std::vector<FakeReport>& devices);

class FakePlugin {
 public:
  struct Options {
    std::string driver = "gpu.example.com";
    std::string pool = "node-1";
    std::string socket = "/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock";
    std::string endpoint = "/var/lib/kubelet/plugins/gpu.example.com/dra.sock";
    std::string type = "DRAPlugin";
    std::vector<std::string> versions = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                         "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};
  };

  FakePlugin(Loop& loop, net::FakeNetwork& network, FakeSocketDirectory& directory,
             Options options);
  ~FakePlugin();

  // Listens and puts its socket into the registry.
  void Start();
  // Listens without touching the registry.
  void ListenAgain();
  // Dies in silence: nobody listens, the socket file stays.
  void Kill();
  // Stops as a driver should: it listens no more, and has removed its socket's file.
  void Stop();
  // Makes the registration socket again, as a driver does when the registry came back.
  void RegisterAgain() { directory_.Put(options_.socket); }

  // Reports that each new stream gets first, before the newest: of a driver that reports in parts.
  void ReportFirst(const std::vector<std::vector<FakeReport>>& parts);
  // What every stream gets from now on, first of all a new one; at once to those that are open.
  void Report(const std::vector<FakeReport>& devices);
  void ReportBytes(std::string bytes);
  void EndStreams(const Status& status);

  // From now on.
  void HangGetInfo(bool hang) { hang_get_info_ = hang; }
  // Each stream gets the present report and ends, as of a driver that takes it for one answer.
  void EndStreamsAfterOneMessage(std::optional<Status> status) { one_message_ = std::move(status); }
  void AnswerStreamsWith(std::optional<Status> status) { stream_answer_ = std::move(status); }
  void FailPrepare(std::string error) { prepare_error_ = std::move(error); }
  void FailUnprepare(std::string error) { unprepare_error_ = std::move(error); }
  // The devices that each prepared claim gets, or that one of this namespace and name does.
  void PrepareAs(std::vector<std::string> devices) {
    devices_of_ = [devices = std::move(devices)](const ObjectKey&) { return devices; };
  }
  using DevicesOf = std::function<std::vector<std::string>(const ObjectKey& claim)>;
  void PrepareBy(DevicesOf devices_of) { devices_of_ = std::move(devices_of); }
  void LeaveClaimsOut(bool leave_out) { leave_out_ = leave_out; }
  // What the claim of this name is given is this share of each device.
  void PrepareShare(const std::string& claim, std::string share_id) {
    shares_[claim] = std::move(share_id);
  }

  // Whether the agent has let everything that was reported come.
  bool all_sent() const;
  std::size_t streams() const { return streams_.size(); }
  int streams_opened() const { return streams_opened_; }
  int times_asked() const { return times_asked_; }
  // uid → name of the claims that are prepared now.
  const std::map<std::string, std::string>& prepared() const { return prepared_; }
  int prepare_calls() const { return prepare_calls_; }
  // "" until it was notified; then "registered", or the error.
  const std::string& notified() const { return notified_; }

 private:
  struct Methods;  // knows the messages

  void Serve();

  net::FakeNetwork& network_;
  FakeSocketDirectory& directory_;
  const Options options_;
  rpc::Dispatcher registration_;
  rpc::Dispatcher endpoint_;
  bool listening_ = false;
  bool hang_get_info_ = false;
  std::optional<Status> stream_answer_, one_message_;
  std::string prepare_error_, unprepare_error_;
  bool leave_out_ = false;
  DevicesOf devices_of_ = [](const ObjectKey&) { return std::vector<std::string>{"gpu-0"}; };
  std::map<std::string, std::string> shares_;  // by claim
  std::string report_;
  std::vector<std::string> first_;
  std::vector<rpc::Reply> hanging_;
  std::map<int, std::unique_ptr<rpc::StreamWriter>> streams_;
  int streams_opened_ = 0;
  int times_asked_ = 0;
  int prepare_calls_ = 0;
  std::map<std::string, std::string> prepared_;
  std::string notified_;
};

}  // namespace galen::agent
