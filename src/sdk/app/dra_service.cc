#include "sdk/app/dra_service.h"

#include <memory>
#include <string>

#include "protos/dra/v1/dra.pb.h"
#include "protos/dra/v1beta1/dra.pb.h"
#include "rpc/typed.h"

namespace galen::sdk {
namespace {

namespace dra_v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;

// The two versions differ in their types and in share_id, which v1beta1 lacks.
struct V1 {
  static constexpr char kService[] = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
  using Claim = dra_v1::Claim;
  using PrepareRequest = dra_v1::NodePrepareResourcesRequest;
  using PrepareResponse = dra_v1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra_v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra_v1::NodeUnprepareResourcesResponse;
  static void SetShareId(dra_v1::Device& device, const std::string& id) { device.set_share_id(id); }
};
struct V1Beta1 {
  static constexpr char kService[] = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/";
  using Claim = v1beta1::Claim;
  using PrepareRequest = v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = v1beta1::NodeUnprepareResourcesResponse;
  static void SetShareId(v1beta1::Device&, const std::string&) {}
};

// Gathers the claims' results, answers when the last one is in, and then removes itself.
template <typename Response>
class Gathering final : public DraCall {
 public:
  static Gathering& Begin(DraCalls& calls, int claims, rpc::TypedReply<Response> reply) {
    auto gathering = std::make_unique<Gathering>(calls, claims, std::move(reply));
    Gathering& begun = *gathering;
    begun.place_ = calls.insert(calls.end(), std::move(gathering));
    return begun;
  }
  Gathering(DraCalls& calls, int claims, rpc::TypedReply<Response> reply)
      : calls_(calls), waiting_(claims), reply_(std::move(reply)) {}

  // The answer for the claim of this UID.
  auto& Entry(const std::string& uid) { return (*response_.mutable_claims())[uid]; }
  // Counts a finished claim; may destroy this.
  void Count() {
    if (--waiting_ > 0) return;
    // Removed from the list first: the reply's callback may destroy the list's owner.
    const std::unique_ptr<DraCall> own = std::move(*place_);
    calls_.erase(place_);
    reply_(std::move(response_));
  }

 private:
  DraCalls& calls_;
  DraCalls::iterator place_;
  int waiting_;
  Response response_;
  rpc::TypedReply<Response> reply_;
};

template <typename Claim>
ClaimRef RefOf(const Claim& claim) {
  return {.ns = claim.namespace_(), .name = claim.name(), .uid = claim.uid()};
}

Status TooMany(int claims) {
  return InvalidArgument("{} claims in one request, at most {} are taken", claims,
                         kClaimsPerRequestMax);
}

template <typename Version>
void Fill(const ReadyDevice& ready, auto& entry) {
  auto& device = *entry.add_devices();
  // No name would mean "for all requests" to the kubelet, and every container would get the device.
  device.add_request_names(ready.request);
  device.set_pool_name(ready.pool);
  device.set_device_name(ready.device);
  for (const std::string& id : ready.cdi_ids) device.add_cdi_device_ids(id);
  if (!ready.share_id.empty()) Version::SetShareId(device, ready.share_id);
}

template <typename Version>
void Prepare(ClaimPreparer& preparer, DraCalls& calls,
             const typename Version::PrepareRequest& request,
             rpc::TypedReply<typename Version::PrepareResponse> reply) {
  using Response = typename Version::PrepareResponse;
  if (request.claims_size() > kClaimsPerRequestMax) return reply(TooMany(request.claims_size()));
  // Without claims no result would trigger the answer.
  if (request.claims_size() == 0) return reply(Response());
  auto& call = Gathering<Response>::Begin(calls, request.claims_size(), std::move(reply));
  for (const auto& claim : request.claims()) {
    preparer.Prepare(RefOf(claim),
                     [&call, uid = claim.uid()](StatusOr<std::vector<ReadyDevice>> ready) {
                       auto& entry = call.Entry(uid);
                       if (ready.ok()) {
                         // A claim that is named twice is prepared twice and listed once.
                         entry.clear_devices();
                         for (const ReadyDevice& device : *ready) Fill<Version>(device, entry);
                       } else {
                         entry.set_error(ready.status().message());
                       }
                       call.Count();
                     });
  }
}

template <typename Version>
void Unprepare(ClaimPreparer& preparer, DraCalls& calls,
               const typename Version::UnprepareRequest& request,
               rpc::TypedReply<typename Version::UnprepareResponse> reply) {
  using Response = typename Version::UnprepareResponse;
  if (request.claims_size() > kClaimsPerRequestMax) return reply(TooMany(request.claims_size()));
  if (request.claims_size() == 0) return reply(Response());
  auto& call = Gathering<Response>::Begin(calls, request.claims_size(), std::move(reply));
  for (const auto& claim : request.claims()) {
    preparer.Unprepare(RefOf(claim), [&call, uid = claim.uid()](const Status& status) {
      auto& entry = call.Entry(uid);
      if (!status.ok()) entry.set_error(status.message());
      call.Count();
    });
  }
}

template <typename Version>
void AddMethods(rpc::Dispatcher& dispatcher, ClaimPreparer& preparer, DraCalls& calls) {
  const std::string service = Version::kService;
  rpc::AddUnary<typename Version::PrepareRequest, typename Version::PrepareResponse>(
      dispatcher, service + "NodePrepareResources",
      [&preparer, &calls](const auto& request, const rpc::Caller&, auto reply) {
        Prepare<Version>(preparer, calls, request, std::move(reply));
      });
  rpc::AddUnary<typename Version::UnprepareRequest, typename Version::UnprepareResponse>(
      dispatcher, service + "NodeUnprepareResources",
      [&preparer, &calls](const auto& request, const rpc::Caller&, auto reply) {
        Unprepare<Version>(preparer, calls, request, std::move(reply));
      });
}

}  // namespace

void ServeDra(rpc::Dispatcher& dispatcher, ClaimPreparer& preparer, DraCalls& calls) {
  AddMethods<V1>(dispatcher, preparer, calls);
  AddMethods<V1Beta1>(dispatcher, preparer, calls);
}

}  // namespace galen::sdk
