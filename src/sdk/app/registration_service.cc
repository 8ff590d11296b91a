#include "sdk/app/registration_service.h"

#include <utility>

#include "base/text.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"
#include "sdk/app/dra_service.h"
#include "sdk/health/health_publisher.h"

namespace galen::sdk {
namespace {

// Enough for a kubelet's sentence with its causes; it goes into a log line.
constexpr std::size_t kRefusalBytesMax = 512;

}  // namespace

RegistrationService::RegistrationService(Log& log, Metrics& metrics, Options options)
    : log_(log), metrics_(metrics), options_(std::move(options)) {
  metrics_.DeclareGauge("galen_driver_registered", "1 while the last registration succeeded.");
  metrics_.Set("galen_driver_registered", {}, 0);
}

void RegistrationService::Serve(rpc::Dispatcher& dispatcher) {
  namespace wire = ::pluginregistration;
  rpc::AddUnary<wire::InfoRequest, wire::PluginInfo>(
      dispatcher, "/pluginregistration.Registration/GetInfo",
      [this](const wire::InfoRequest&, const rpc::Caller&,
             rpc::TypedReply<wire::PluginInfo> reply) {
        wire::PluginInfo info;
        info.set_type(options_.type);
        info.set_name(options_.driver);
        info.set_endpoint(options_.endpoint);
        for (std::string& version : SupportedVersions()) {
          info.add_supported_versions(std::move(version));
        }
        reply(std::move(info));
      });
  rpc::AddUnary<wire::RegistrationStatus, wire::RegistrationStatusResponse>(
      dispatcher, "/pluginregistration.Registration/NotifyRegistrationStatus",
      [this](const wire::RegistrationStatus& status, const rpc::Caller&,
             rpc::TypedReply<wire::RegistrationStatusResponse> reply) {
        // Answered before it is handled: handling may remake the socket of this very call.
        reply(wire::RegistrationStatusResponse());
        TakeOutcome(status.plugin_registered(), status.error());
      });
}

std::vector<std::string> RegistrationService::SupportedVersions() const {
  std::vector<std::string> versions;
  if (options_.has_claims) versions = {std::string(kDraV1), std::string(kDraV1Beta1)};
  // A health service that answers "unimplemented" must not be announced: a kubelet 1.36 would ask
  // every five seconds for ever.
  if (options_.has_health) {
    versions.emplace_back(kHealthV1);
    versions.emplace_back(kHealthV1Alpha1);
  }
  return versions;
}

void RegistrationService::TakeOutcome(bool registered, const std::string& error) {
  const std::string refusal = registered ? "" : Shown(error, kRefusalBytesMax);
  if (registered && !registered_) log_.Info("driver is registered", {{"driver", options_.driver}});
  if (!registered && (registered_ || refusal != last_refusal_)) {
    log_.Error("the kubelet refuses this driver; trying again",
               {{"driver", options_.driver}, {"error", refusal}});
  }
  registered_ = registered;
  last_refusal_ = refusal;
  metrics_.Set("galen_driver_registered", {}, registered ? 1 : 0);
  // A refusal without a reason must not read as success.
  if (on_outcome_) on_outcome_(registered || !refusal.empty() ? refusal : "no reason given");
}

}  // namespace galen::sdk
