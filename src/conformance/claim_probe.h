// Plays the kubelet's preparing and unpreparing of claims towards one driver. Belongs to its loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/cluster_access.h"

namespace galen::conformance {

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
  // have refused. `cluster` may be nullptr: then no claim was made.
  void PutAway(ClusterAccess* cluster, const ClaimsSeen& seen);

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

}  // namespace galen::conformance
