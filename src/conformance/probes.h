// The parts of an examination, each with a source file and a test of its name: registration,
// claims, health, and the CDI directories.
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

// Calls GetInfo on one socket, within the kubelet's limit of a second. If connecting fails, with
// that status.
InfoAnswer AskInfo(const Edges& edges, const std::string& socket, std::string_view request = "");

// Asks what may be asked while a kubelet uses the driver, too.
void AskAgain(const Edges& edges, RegistrationSeen& seen);
// Records where the endpoint lies and whether a program listens there.
void LookAtEndpoint(const Edges& edges, RegistrationSeen& seen);
// NotifyRegistrationStatus: registered.
Answer NotifyRegistered(const Edges& edges, const std::string& socket);
// A refusal, and whether the driver survives it. Comes last, because drivers make their sockets
// anew after it; NotifyRegistered afterwards undoes it.
void NotifyRefused(const Edges& edges, RegistrationSeen& seen);

// The endpoint as a kubelet understands it: an empty one means the registration socket itself.
std::string EndpointOf(const RegistrationSeen& seen);

// Plays the kubelet's preparing and unpreparing of claims towards one driver. Belongs to its loop.
class ClaimProbe {
 public:
  // `edges` is borrowed. `endpoint` is the driver's data socket, `info` its GetInfo answer.
  ClaimProbe(const Edges& edges, std::string endpoint, const Info& info);

  // Makes the calls that need no claim of the API server's.
  void AskWithoutClaim(ClaimsSeen& seen);
  // Makes a claim of `device` and prepares it in every way; it stays prepared.
  void Prepare(ClusterAccess& cluster, const TestAllocation& device, ClaimsSeen& seen);
  // Unprepares that claim in every way and removes it. REQUIRES: Prepare.
  void Unprepare(ClusterAccess& cluster, ClaimsSeen& seen);
  // Unprepares and removes everything, including what the driver prepared but should have refused.
  // `cluster` may be nullptr: then no claim was made. An error: a claim is still there, under a
  // name that begins with galen-conformance-.
  Status PutAway(ClusterAccess* cluster, const ClaimsSeen& seen);

  // The kubelet's own limit (dra_plugin.go: defaultClientCallTimeout).
  static constexpr Duration kCallLimit = std::chrono::seconds(45);

 private:
  enum class Operation { kPrepare, kUnprepare };
  struct OpenClaims {
    std::unique_ptr<Link> link;  // outlives the call; null for a shared link
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
  std::vector<ClaimRef> to_put_away_;  // every claim that a prepare was sent for, once each
};

// Plays the kubelet's health reader towards one driver, and then several at once, ones that leave
// and ones that break off. Belongs to its loop.
class HealthProbe {
 public:
  // `edges` is borrowed. `endpoint` is the driver's data socket, `info` its GetInfo answer.
  HealthProbe(const Edges& edges, std::string endpoint, const Info& info);

  // Opens one stream for each announced version, kept open until Finish; waits for the first
  // reports.
  void OpenSteady();
  // Tries what could disturb a kubelet that uses the driver: many subscribers, cancels, broken
  // connections. A driver that serves only one subscriber would drop the kubelet's.
  void Crowd();
  // Records the driver's answers for versions that it does not announce.
  void AskUnannounced();
  // Listens on until every device of each steady stream was reported again, or its time is over, or
  // `patience` has passed since the streams were opened.
  void Listen(Duration patience);
  // Ends the streams.
  HealthSeen Finish();

  // Within 5 s: until then a kubelet shows all devices as Unknown.
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
  std::vector<std::string> others_;    // versions that are not announced
  std::vector<Stream> steady_;
  HealthSeen seen_;
};

// ---- The CDI directories of a node, as a container runtime finds them.

// All .json and .yaml files, at most kCdiFilesMax of all directories; an unreadable or missing
// directory has none; an unreadable file carries the error.
std::vector<CdiSpec> ReadCdiDirectories(FileSystem& files,
                                        const std::vector<std::string>& directories);

}  // namespace galen::conformance
