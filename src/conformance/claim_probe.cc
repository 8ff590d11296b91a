#include <algorithm>
#include <type_traits>
#include <utility>

#include "conformance/probes.h"
#include "protos/dra/v1/dra.pb.h"
#include "protos/dra/v1beta1/dra.pb.h"
#include "rpc/typed.h"

namespace galen::conformance {
namespace {

namespace v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;

// How many calls go out at once: as many Pods as may start together on a node.
constexpr int kClaimsAtOnce = 8;

// Requests and unprepare answers are encoded alike in both versions; v1beta1's devices only lack
// share_id. So requests are always encoded as v1, and devices are read by their own version.
std::string RequestBytes(const std::vector<ClaimRef>& claims, std::string_view more) {
  v1::NodePrepareResourcesRequest request;
  for (const ClaimRef& claim : claims) {
    v1::Claim& one = *request.add_claims();
    one.set_namespace_(claim.ns);
    one.set_name(claim.name);
    one.set_uid(claim.uid);
  }
  return request.SerializeAsString() + std::string(more);
}

template <typename Response>
Status ReadPrepared(std::string_view bytes, ClaimsAnswer& answer) {
  ASSIGN_OR_RETURN(const Response response, rpc::Decode<Response>(bytes));
  for (const auto& [uid, entry] : response.claims()) {
    ClaimEntry& seen = answer.entries[uid];
    seen.error = entry.error();
    for (const auto& device : entry.devices()) {
      PreparedDeviceSeen& prepared = seen.devices.emplace_back();
      prepared.requests = {device.request_names().begin(), device.request_names().end()};
      prepared.pool = device.pool_name();
      prepared.device = device.device_name();
      prepared.cdi_ids = {device.cdi_device_ids().begin(), device.cdi_device_ids().end()};
      if constexpr (std::is_same_v<Response, v1::NodePrepareResourcesResponse>) {
        prepared.share_id = device.share_id();
      }
    }
  }
  return OkStatus();
}

Status ReadUnprepared(std::string_view bytes, ClaimsAnswer& answer) {
  ASSIGN_OR_RETURN(const auto response, rpc::Decode<v1::NodeUnprepareResourcesResponse>(bytes));
  for (const auto& [uid, entry] : response.claims()) answer.entries[uid].error = entry.error();
  return OkStatus();
}

}  // namespace

ClaimProbe::ClaimProbe(const Edges& edges, std::string endpoint, const Info& info)
    : edges_(edges), endpoint_(std::move(endpoint)) {
  for (const std::string& version : info.versions) {
    if (version == "v1.DRAPlugin") versions_.emplace_back("v1");
    if (version == "v1beta1.DRAPlugin") versions_.emplace_back("v1beta1");
  }
}

void ClaimProbe::AskWithoutClaim(ClaimsSeen& seen) {
  if (versions_.empty()) {
    seen.not_checked = "the driver offers no version of DRAPlugin";
    return;
  }
  for (const std::string& version : versions_) {
    seen.empty_prepare[version] = Await(Start(Operation::kPrepare, version, {}));
    seen.empty_unprepare[version] = Await(Start(Operation::kUnprepare, version, {}));
  }
  const auto hangs = [](const auto& answer) {
    return answer.second.answer.status.code() == Code::kDeadlineExceeded;
  };
  if (std::any_of(seen.empty_prepare.begin(), seen.empty_prepare.end(), hangs) ||
      std::any_of(seen.empty_unprepare.begin(), seen.empty_unprepare.end(), hangs)) {
    seen.stopped = seen.no_claim = "a request without claims was not answered";
    return;
  }
  seen.with_unknown_field = Await(Start(Operation::kPrepare, versions_.front(), {}, kUnknownField));
  seen.unprepare_unknown = Ask(Operation::kUnprepare, {UnknownClaim()});
  seen.prepare_missing = Ask(Operation::kPrepare, {UnknownClaim()});
  AskAtOnce(seen);
}

void ClaimProbe::Prepare(ClusterAccess& cluster, const TestAllocation& device, ClaimsSeen& seen) {
  const StatusOr<ClaimRef> claim = cluster.MakeClaim(device);
  const StatusOr<ClaimRef> waiting = cluster.MakeClaim(std::nullopt);
  if (!claim.ok() || !waiting.ok()) {
    seen.no_claim = (claim.ok() ? waiting : claim).status().message();
    return;
  }
  seen.claim = *claim;
  seen.allocated = device;
  // Before the claim is first prepared: a record of it must not answer another claim.
  const auto hangs = [&seen](const std::optional<ClaimsAnswer>& answer) {
    if (answer->answer.status.code() != Code::kDeadlineExceeded) return false;
    seen.stopped = "a prepare was not answered";
    return true;
  };
  seen.not_allocated = Ask(Operation::kPrepare, {*waiting});
  if (hangs(seen.not_allocated)) return;
  seen.wrong_uid = Ask(Operation::kPrepare, {{claim->ns, claim->name, edges_.random.Uuid()}});
  if (hangs(seen.wrong_uid)) return;
  seen.prepare = Ask(Operation::kPrepare, {*claim});
  if (hangs(seen.prepare)) return;
  seen.prepare_again = Ask(Operation::kPrepare, {*claim});
  if (versions_.size() > 1) {
    seen.other_version = Await(Start(Operation::kPrepare, versions_.back(), {*claim}));
  }
  const OpenClaims first = Start(Operation::kPrepare, versions_.front(), {*claim});
  const OpenClaims second = Start(Operation::kPrepare, versions_.front(), {*claim});
  seen.prepare_parallel.push_back(Await(first));
  seen.prepare_parallel.push_back(Await(second));
  seen.mixed = Ask(Operation::kPrepare, {*claim, UnknownClaim()});
}

void ClaimProbe::Unprepare(ClusterAccess& cluster, ClaimsSeen& seen) {
  seen.unprepare = Ask(Operation::kUnprepare, {seen.claim});
  if (seen.unprepare->answer.status.code() == Code::kDeadlineExceeded) {
    seen.stopped = "the claim's unprepare was not answered";
    return;
  }
  seen.unprepare_again = Ask(Operation::kUnprepare, {seen.claim});
  seen.prepare_after = Ask(Operation::kPrepare, {seen.claim});
  // A kubelet may unprepare long after a claim was deleted by force.
  if (cluster.RemoveClaim(seen.claim).ok()) {
    seen.unprepare_deleted = Ask(Operation::kUnprepare, {seen.claim});
  }
}

Status ClaimProbe::PutAway(ClusterAccess* cluster, const ClaimsSeen& seen) {
  const bool undone = seen.unprepare_deleted && seen.unprepare_deleted->answer.status.ok();
  for (const ClaimRef& claim : to_put_away_) {
    if (undone && claim.uid == seen.claim.uid) continue;
    // One by one: an error of one must not affect the others. A driver that hangs once is not
    // called again.
    const ClaimsAnswer answer = Ask(Operation::kUnprepare, {claim});
    if (answer.answer.status.code() == Code::kDeadlineExceeded) break;
  }
  return cluster == nullptr ? OkStatus() : cluster->PutAway();
}

ClaimProbe::OpenClaims ClaimProbe::Start(Operation operation, const std::string& version,
                                         const std::vector<ClaimRef>& claims,
                                         std::string_view more) {
  OpenClaims open{.version = version, .operation = operation};
  for (const ClaimRef& claim : claims) {
    open.asked.push_back(claim.uid);
    const auto same = [&](const ClaimRef& one) { return one.uid == claim.uid; };
    if (operation == Operation::kPrepare && std::ranges::none_of(to_put_away_, same)) {
      to_put_away_.push_back(claim);
    }
  }
  StatusOr<std::unique_ptr<Link>> link = Link::Open(edges_, endpoint_);
  if (!link.ok()) return open;
  open.link = std::move(*link);
  const std::string method =
      "/k8s.io.kubelet.pkg.apis.dra." + version + ".DRAPlugin/" +
      (operation == Operation::kPrepare ? "NodePrepareResources" : "NodeUnprepareResources");
  open.call = open.link->Start(method, RequestBytes(claims, more), kCallLimit);
  return open;
}

ClaimsAnswer ClaimProbe::Await(const OpenClaims& open) {
  ClaimsAnswer answer{.asked = open.asked};
  if (!open.call) {
    answer.answer.status = Unavailable("nobody listens at {}", endpoint_);
    return answer;
  }
  edges_.waiter.WaitUntil([&] { return open.call->done(); }, kCallLimit);
  answer.answer = open.call->Outcome();
  if (!answer.answer.status.ok()) return answer;
  const std::string& bytes = *open.call->bytes();
  Status read;
  if (open.operation == Operation::kUnprepare) {
    read = ReadUnprepared(bytes, answer);
  } else if (open.version == "v1") {
    read = ReadPrepared<v1::NodePrepareResourcesResponse>(bytes, answer);
  } else {
    read = ReadPrepared<v1beta1::NodePrepareResourcesResponse>(bytes, answer);
  }
  if (!read.ok()) answer.answer.status = read;
  return answer;
}

ClaimRef ClaimProbe::UnknownClaim() {
  return {"default", "galen-conformance-" + edges_.random.NameSuffix(8), edges_.random.Uuid()};
}

void ClaimProbe::AskAtOnce(ClaimsSeen& seen) {
  std::vector<OpenClaims> calls;
  for (int i = 0; i < kClaimsAtOnce; ++i) {
    calls.push_back(Start(Operation::kUnprepare, versions_.front(), {UnknownClaim()}));
  }
  for (const OpenClaims& call : calls) seen.parallel.push_back(Await(call));
}

}  // namespace galen::conformance
