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

// The two versions differ in their types and in share_id, which v1beta1 has no field for.
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

// Gathers the claims' results and answers when the last is in. Shared by the claims under way.
template <typename Response>
struct Gathering {
  Response response;
  int waiting = 0;
  rpc::TypedReply<Response> reply;

  void Count() {
    if (--waiting == 0) reply(std::move(response));
  }
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
void Fill(const ReadyDevice& ready, const std::string& uid,
          typename Version::PrepareResponse& response) {
  auto& device = *(*response.mutable_claims())[uid].add_devices();
  // No name would mean "for all requests" to the kubelet, and every container would get the device.
  device.add_request_names(ready.request);
  device.set_pool_name(ready.pool);
  device.set_device_name(ready.device);
  for (const std::string& id : ready.cdi_ids) device.add_cdi_device_ids(id);
  if (!ready.share_id.empty()) Version::SetShareId(device, ready.share_id);
}

template <typename Version>
void Prepare(ClaimPreparer& preparer, const typename Version::PrepareRequest& request,
             rpc::TypedReply<typename Version::PrepareResponse> reply) {
  using Response = typename Version::PrepareResponse;
  if (request.claims_size() > kClaimsPerRequestMax) {
    return reply(TooMany(request.claims_size()));
  }
  // Nobody would count down to the answer.
  if (request.claims_size() == 0) return reply(Response());
  // Shared by the answers for the claims, of which the last replies.
  auto gathering = std::make_shared<Gathering<Response>>();
  gathering->waiting = request.claims_size();
  gathering->reply = std::move(reply);
  for (const auto& claim : request.claims()) {
    preparer.Prepare(RefOf(claim),
                     [gathering, uid = claim.uid()](StatusOr<std::vector<ReadyDevice>> ready) {
                       auto& entry = (*gathering->response.mutable_claims())[uid];
                       if (!ready.ok()) {
                         entry.set_error(ready.status().message());
                       } else {
                         // A claim that is named twice in a request is prepared twice and listed
                         // once.
                         entry.clear_devices();
                         for (const ReadyDevice& device : *ready)
                           Fill<Version>(device, uid, gathering->response);
                       }
                       gathering->Count();
                     });
  }
}

template <typename Version>
void Unprepare(ClaimPreparer& preparer, const typename Version::UnprepareRequest& request,
               rpc::TypedReply<typename Version::UnprepareResponse> reply) {
  using Response = typename Version::UnprepareResponse;
  if (request.claims_size() > kClaimsPerRequestMax) {
    return reply(TooMany(request.claims_size()));
  }
  if (request.claims_size() == 0) return reply(Response());
  // Shared, as in Prepare.
  auto gathering = std::make_shared<Gathering<Response>>();
  gathering->waiting = request.claims_size();
  gathering->reply = std::move(reply);
  for (const auto& claim : request.claims()) {
    preparer.Unprepare(RefOf(claim), [gathering, uid = claim.uid()](const Status& status) {
      auto& entry = (*gathering->response.mutable_claims())[uid];
      if (!status.ok()) entry.set_error(status.message());
      gathering->Count();
    });
  }
}

template <typename Version>
void AddMethods(rpc::Dispatcher& dispatcher, ClaimPreparer& preparer) {
  const std::string service = Version::kService;
  rpc::AddUnary<typename Version::PrepareRequest, typename Version::PrepareResponse>(
      dispatcher, service + "NodePrepareResources",
      [&preparer](const auto& request, const rpc::Caller&, auto reply) {
        Prepare<Version>(preparer, request, std::move(reply));
      });
  rpc::AddUnary<typename Version::UnprepareRequest, typename Version::UnprepareResponse>(
      dispatcher, service + "NodeUnprepareResources",
      [&preparer](const auto& request, const rpc::Caller&, auto reply) {
        Unprepare<Version>(preparer, request, std::move(reply));
      });
}

}  // namespace

void ServeDra(rpc::Dispatcher& dispatcher, ClaimPreparer& preparer) {
  AddMethods<V1>(dispatcher, preparer);
  AddMethods<V1Beta1>(dispatcher, preparer);
}

}  // namespace galen::sdk
