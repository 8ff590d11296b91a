// What was observed of one driver in a kubelet's place: values only, so that every check can be
// made again from them, without the driver. nullopt: not tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"
#include "base/time.h"
#include "model/cdi_spec.h"

namespace galen::conformance {

// One device of a health report, unchecked: names may be empty, numbers out of range.
struct DeviceHealthSeen {
  std::string pool, device, message;  // as they came
  std::int64_t health = 0;            // 0 unknown, 1 healthy, 2 unhealthy
  std::int64_t updated_unix_seconds = 0;
  std::int64_t timeout_seconds = 0;  // 0 or less: the reader's default

  bool operator==(const DeviceHealthSeen&) const = default;
  std::string Key() const { return pool + "/" + device; }
  // The timeout that a kubelet since 1.35 applies: the device's own, or 30 s.
  Duration Timeout() const;
};

// One message of a health stream.
struct HealthReportSeen {
  Duration after{};  // since the stream was opened
  std::size_t bytes = 0;
  bool broken = false;  // no protobuf message, or a known field of another type
  std::vector<DeviceHealthSeen> devices;

  const DeviceHealthSeen* Find(std::string_view key) const;
};

// Devices beyond kDevicesMax are dropped; a report is at most 4 MiB, so one that names its devices
// never reaches that.
HealthReportSeen ReadHealthReport(std::string_view message);

// How one call ended and how long that took.
struct Answer {
  Status status;
  Duration took{};
};

// The answer to GetInfo.
struct Info {
  std::string type;
  std::string name;
  std::string endpoint;
  std::vector<std::string> versions;

  bool operator==(const Info&) const = default;
  bool Offers(std::string_view version) const;
};

// A call of GetInfo.
struct InfoAnswer {
  Answer answer;
  Info info;  // valid when the answer is OK
};

// A registration socket and its answers, also to unusual requests.
struct RegistrationSeen {
  std::string socket;  // its path
  bool is_socket = true;
  InfoAnswer info;
  std::optional<InfoAnswer> again;  // on a second connection
  std::optional<InfoAnswer> with_unknown_field;
  std::vector<InfoAnswer> parallel;
  // Sockets of the directory that announce the same name and endpoint.
  std::vector<std::string> twins;
  std::optional<Status> endpoint_connect;
  std::string kubelet_root;    // "" = not known
  std::string real_directory;  // of the endpoint, without symlinks; "" = not there
  std::string real_root;
  std::optional<Answer> notified_registered, notified_refused;
  std::optional<InfoAnswer> after_refusal;
};

// One health stream, from its opening until the driver or we ended it.
struct StreamSeen {
  std::string version;                    // "v1" or "v1alpha1"
  std::vector<HealthReportSeen> reports;  // at most kReportsKept
  std::size_t report_count = 0;
  Duration watched{};                   // how long it was read
  std::optional<Status> end;            // set when the driver ended it
  std::optional<Duration> first_after;  // from opening to the first report

  static constexpr std::size_t kReportsKept = 256;
};

// Every health stream that was opened, by purpose.
struct HealthSeen {
  std::vector<StreamSeen> steady;  // one a version of the API, open to the examination's end
  std::vector<StreamSeen> crowd;   // opened at once, each on a connection of its own
  std::vector<StreamSeen> shared;  // two on one connection
  std::optional<StreamSeen> with_unknown_field;
  std::optional<StreamSeen> after_cancel;  // on the connection whose first stream was cancelled
  std::optional<StreamSeen> after_break;   // on a new connection, after one was cut
  // Requests for health services that are not announced: v1, then v1alpha1. Their outcome within a
  // second.
  std::map<std::string, Status> unannounced;
};

// Identifies a claim in requests to a driver.
struct ClaimRef {
  std::string ns, name, uid;
};

// A device that the driver claims to have prepared; unchecked.
struct PreparedDeviceSeen {
  std::vector<std::string> requests;
  std::string pool, device;
  std::vector<std::string> cdi_ids;
  std::string share_id;

  bool operator==(const PreparedDeviceSeen&) const = default;
};

// One claim's part of an answer.
struct ClaimEntry {
  std::vector<PreparedDeviceSeen> devices;
  std::string error;

  bool operator==(const ClaimEntry&) const = default;
};

// The answer to NodePrepareResources or NodeUnprepareResources.
struct ClaimsAnswer {
  Answer answer;
  std::vector<std::string> asked;  // claim UIDs
  std::map<std::string, ClaimEntry> entries;
};

// The allocation of the test's claim.
struct TestAllocation {
  std::string request, pool, device;
};

// The calls that prepare and unprepare claims, in this order.
struct ClaimsSeen {
  // Why no call was made at all; "": calls were made.
  std::string not_checked;
  // Why the calls stopped: a call that hangs takes 45 s, and the next would take as long.
  std::string stopped;
  // Why there was no claim to prepare; "": there was one.
  std::string no_claim;
  std::map<std::string, ClaimsAnswer> empty_prepare, empty_unprepare;  // by "v1", "v1beta1"
  std::optional<ClaimsAnswer> with_unknown_field;
  std::optional<ClaimsAnswer> unprepare_unknown;
  std::optional<ClaimsAnswer> prepare_missing;  // a claim that the API server does not have
  std::vector<ClaimsAnswer> parallel;           // unprepare of unknown claims, at once

  ClaimRef claim;
  TestAllocation allocated;
  std::optional<ClaimsAnswer> prepare, prepare_again, other_version;
  std::vector<ClaimsAnswer> prepare_parallel;
  std::optional<ClaimsAnswer> mixed;      // the claim and one that does not exist
  std::optional<ClaimsAnswer> wrong_uid;  // the claim's name with another UID
  std::optional<ClaimsAnswer> not_allocated;
  std::optional<ClaimsAnswer> unprepare, unprepare_again, prepare_after, unprepare_deleted;
};

// The CDI files of the node while the claim was prepared.
struct CdiSeen {
  std::string not_checked;  // why no directory was read
  std::vector<std::string> directories;
  std::vector<CdiSpec> specs;  // all files of the directories
};

// The driver's published slices.
struct SlicesSeen {
  std::string not_checked;   // why the API server was not asked, or gave no answer
  std::vector<Json> slices;  // ResourceSlices of this driver, all nodes
  std::string node;          // this one; "" = not known
};

// All observations of one driver.
struct Observations {
  std::string driver;
  bool read_only = false;
  WallTime when{};
  RegistrationSeen registration;
  HealthSeen health;
  ClaimsSeen claims;
  CdiSeen cdi;
  SlicesSeen slices;
  // What could not be removed or undone at the end, a sentence each.
  std::vector<std::string> left_behind;
};

}  // namespace galen::conformance
