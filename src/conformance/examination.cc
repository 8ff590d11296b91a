#include "conformance/examination.h"

#include <algorithm>

#include "conformance/cluster_access.h"
#include "conformance/probes.h"
#include "kube/request.h"

namespace galen::conformance {
namespace {

constexpr std::string_view kNoCluster = "no cluster given: --kubeconfig names one";

// The examination of one driver.
class Examination {
 public:
  Examination(const Edges& edges, const ExaminationOptions& options)
      : edges_(edges), options_(options) {
    seen_.registration = options.found;
    seen_.read_only = options.read_only;
    seen_.driver = options.found.info.info.name;
    seen_.when = edges.loop.WallNow();
  }

  Observations Run() {
    if (!seen_.registration.info.answer.status.ok()) return Unanswered();
    const Info& info = seen_.registration.info.info;
    const std::string endpoint = EndpointOf(seen_.registration);
    AskAgain(edges_, seen_.registration);
    LookAtEndpoint(edges_, seen_.registration);
    if (!options_.read_only) {
      seen_.registration.notified_registered = NotifyRegistered(edges_, seen_.registration.socket);
    }
    HealthProbe health(edges_, endpoint, info);
    health.OpenSteady();
    health.AskUnannounced();
    if (!options_.read_only) health.Crowd();
    std::optional<ClusterAccess> cluster;
    if (edges_.api != nullptr) cluster.emplace(edges_, seen_.driver, options_.ns);
    ClaimProbe claims(edges_, endpoint, info);
    // Claims come before the long wait for repetitions, which goes on meanwhile.
    LookAtClaims(claims, cluster);
    health.Listen(options_.patience);
    seen_.health = health.Finish();
    LookAtSlices(cluster);
    if (!options_.read_only) NotifyRefused(edges_, seen_.registration);
    PutAway(claims, cluster);
    return std::move(seen_);
  }

 private:
  Observations Unanswered() {
    seen_.cdi.not_checked = "GetInfo gave no answer";
    seen_.slices.not_checked = "GetInfo gave no answer";
    return std::move(seen_);
  }

  void LookAtClaims(ClaimProbe& probe, std::optional<ClusterAccess>& cluster) {
    if (!options_.read_only) {
      probe.AskWithoutClaim(seen_.claims);
      const ClaimsSeen& claims = seen_.claims;
      if (claims.not_checked.empty() && claims.stopped.empty()) PrepareOne(probe, cluster);
    }
    ReadCdi();
    if (seen_.claims.prepare) probe.Unprepare(*cluster, seen_.claims);
  }

  void PrepareOne(ClaimProbe& probe, std::optional<ClusterAccess>& cluster) {
    if (!cluster) {
      seen_.claims.no_claim = kNoCluster;
      return;
    }
    const StatusOr<TestAllocation> device = FindDevice(*cluster);
    if (device.ok()) {
      probe.Prepare(*cluster, *device, seen_.claims);
    } else {
      seen_.claims.no_claim = device.status().message();
    }
  }

  StatusOr<TestAllocation> FindDevice(ClusterAccess& cluster) {
    ASSIGN_OR_RETURN(const std::vector<Json> slices, cluster.Slices());
    ASSIGN_OR_RETURN(const std::vector<Json> claims, cluster.List(kube::kResourceClaims, ""));
    const std::string node = options_.node.empty() ? NodeOf(slices, {}) : options_.node;
    if (node.empty()) {
      return NotFound("{}", slices.empty()
                                ? "the driver has published no slice, so no device can be claimed"
                                : "the driver publishes on several nodes: --node names this one");
    }
    return FindFreeDevice(slices, claims, seen_.driver, node);
  }

  void ReadCdi() {
    seen_.cdi.directories = options_.cdi_directories;
    const bool any = std::any_of(
        options_.cdi_directories.begin(), options_.cdi_directories.end(),
        [&](const std::string& directory) { return edges_.files.List(directory).ok(); });
    if (!any) {
      seen_.cdi.not_checked = "there is no CDI directory here: --cdi-root names one";
      return;
    }
    seen_.cdi.specs = ReadCdiDirectories(edges_.files, options_.cdi_directories);
  }

  void LookAtSlices(std::optional<ClusterAccess>& cluster) {
    if (!cluster) {
      seen_.slices.not_checked = kNoCluster;
      return;
    }
    StatusOr<std::vector<Json>> slices = cluster->Slices();
    if (!slices.ok()) {
      seen_.slices.not_checked = "the API server: " + slices.status().message();
      return;
    }
    seen_.slices.slices = std::move(*slices);
    seen_.slices.node =
        options_.node.empty() ? NodeOf(seen_.slices.slices, seen_.health) : options_.node;
  }

  void PutAway(ClaimProbe& claims, std::optional<ClusterAccess>& cluster) {
    edges_.waiter.StartPuttingAway();
    Note(claims.PutAway(cluster ? &*cluster : nullptr, seen_.claims), "a test claim");
    // It was refused only for the examination.
    if (seen_.registration.notified_refused) {
      Note(NotifyRegistered(edges_, seen_.registration.socket).status,
           "the driver was not notified again that it is registered");
    }
  }

  void Note(const Status& status, std::string_view left) {
    if (status.ok()) return;
    seen_.left_behind.push_back(std::string(left) + ": " + status.message());
  }

  const Edges& edges_;
  const ExaminationOptions& options_;
  Observations seen_;
};

}  // namespace

Observations Examine(const Edges& edges, const ExaminationOptions& options) {
  return Examination(edges, options).Run();
}

}  // namespace galen::conformance
