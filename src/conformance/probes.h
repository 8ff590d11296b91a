// What an examination of a driver asks and looks at, each part with a source file and a test of its
// name: registration, claims, health, and the CDI directories.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "conformance/cluster_access.h"
#include "conformance/link.h"
#include "model/cdi_spec.h"

namespace galen::conformance {

// ---- Plays the kubelet's plugin watcher towards one registration socket: asks GetInfo in every
// way that kubelets do, and notifies the driver of how registration ended.

// Asks one socket who it is, within the kubelet's second. On a connection that fails, its status.
InfoAnswer AskInfo(const Edges& edges, const std::string& socket, std::string_view request = "");

// What may be asked while a kubelet uses the driver, too.
void AskAgain(const Edges& edges, RegistrationSeen& seen);
// Where the endpoint lies and whether somebody listens there.
void LookAtEndpoint(const Edges& edges, RegistrationSeen& seen);
// NotifyRegistrationStatus: registered.
Answer NotifyRegistered(const Edges& edges, const std::string& socket);
// A refusal, and whether the driver survives it. Comes last, because drivers make their sockets
// anew after it; NotifyRegistered again puts it right.
void NotifyRefused(const Edges& edges, RegistrationSeen& seen);

// The endpoint as a kubelet takes it: an empty one is the registration socket itself.
std::string EndpointOf(const RegistrationSeen& seen);

// Plays the kubelet's preparing and unpreparing of claims towards one driver. Belongs to its loop.
class ClaimProbe {
 public:
  // `edges` is lent. `endpoint` is the driver's data socket, `info` what it announces.
  ClaimProbe(const Edges& edges, std::string endpoint, const Info& info);

  // What needs no claim of the API server's.
  void AskWithoutClaim(ClaimsSeen& seen);
  // Makes a claim of `device` and prepares it in every way; it stays prepared.
  void Prepare(ClusterAccess& cluster, const TestAllocation& device, ClaimsSeen& seen);
  // Unprepares that claim in every way and removes it. REQUIRES: Prepare.
  void Unprepare(ClusterAccess& cluster, ClaimsSeen& seen);
  // Leaves nothing behind, whatever happened before and whatever a driver prepared that it should
  // have refused. `cluster` may be nullptr: then no claim was made. An error: a claim is still
  // there, under a name that begins with galen-conformance-.
  Status PutAway(ClusterAccess* cluster, const ClaimsSeen& seen);

  // As the kubelet's (dra_plugin.go: defaultClientCallTimeout).
  static constexpr Duration kCallLimit = std::chrono::seconds(45);

 private:
  enum class Operation { kPrepare, kUnprepare };
  struct OpenClaims {
    std::unique_ptr<Link> link;  // outlives the call; shared ones are not here
    std::unique_ptr<OpenCall> call;
    std::string version;
    Operation operation;
    std::vector<std::string> asked;
  };

  OpenClaims Start(Operation operation, const std::string& version,
                   const std::vector<ClaimRef>& claims, std::string_view more = "");
  ClaimsAnswer Await(const OpenClaims& open);
  ClaimsAnswer Ask(Operation operation, const std::vector<ClaimRef>& claims) {
    return Await(Start(operation, versions_.front(), claims));
  }
  ClaimRef UnknownClaim();
  void AskAtOnce(ClaimsSeen& seen);

  const Edges& edges_;
  const std::string endpoint_;
  std::vector<std::string> versions_;  // of DRAPlugin, in the driver's order: "v1", "v1beta1"
  std::vector<ClaimRef> to_put_away_;  // all that a prepare was asked for, each once
};

// Plays the kubelet's health reader towards one driver, and then several at once, ones that leave
// and ones that break off. Belongs to its loop.
class HealthProbe {
 public:
  // `edges` is lent. `endpoint` is the driver's data socket, `info` what it announces.
  HealthProbe(const Edges& edges, std::string endpoint, const Info& info);

  // One stream a version that is announced, kept open until Finish; waits for the first reports.
  void OpenSteady();
  // What a kubelet that uses the driver could feel: many subscribers, cancels, broken connections.
  // A driver that serves only one subscriber takes it from the kubelet then.
  void Crowd();
  // What a driver answers on the versions that it does not announce.
  void AskUnannounced();
  // Listens on until every device of each steady stream was reported again, or its time is over, or
  // `patience` has passed since the streams were opened.
  void Listen(Duration patience);
  // Ends the streams.
  HealthSeen Finish();

  // In 5 s a kubelet that was answered nothing would be shown Unknown for all devices.
  static constexpr Duration kFirstReportLimit = std::chrono::seconds(5);
  static constexpr int kCrowd = 8;

 private:
  struct Stream {
    std::unique_ptr<Link> link;  // outlives the subscription
    std::unique_ptr<Subscription> subscription;
  };

  Stream Open(const std::string& version, std::string_view request = "");
  void AwaitFirst(const std::vector<Subscription*>& subscriptions);
  StreamSeen OpenAndHear(const std::string& version, std::string_view request = "");
  void CrowdAtOnce();
  void ShareConnection();
  void CancelAndAskAgain();
  void BreakAndComeAgain();
  bool RepeatedOrOver(const StreamSeen& seen) const;

  const Edges& edges_;
  const std::string endpoint_;
  std::vector<std::string> versions_;  // announced, newest first: "v1", "v1alpha1"
  std::vector<std::string> others_;    // not announced
  std::vector<Stream> steady_;
  HealthSeen seen_;
};

// ---- The CDI directories of a node, as a container runtime finds them.

// All .json and .yaml files, at most kCdiFilesMax of all directories; a directory that is not there
// or may not be read holds none, a file that may not be read says why.
std::vector<CdiSpec> ReadCdiDirectories(FileSystem& files,
                                        const std::vector<std::string>& directories);

}  // namespace galen::conformance
