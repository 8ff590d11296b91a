#include "tests/e2e/scripted_driver.h"

#include <filesystem>
#include <utility>

#include "base/log.h"
#include "protos/dra/v1/dra.pb.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"

namespace galen::e2e {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;
namespace registration = pluginregistration;

constexpr Duration kReportEvery = std::chrono::milliseconds(500);

std::string HealthReport() {
  ::v1::NodeWatchResourcesResponse response;
  ::v1::DeviceHealth& device = *response.add_devices();
  device.mutable_device()->set_pool_name("node-7");
  device.mutable_device()->set_device_name("gpu-0");
  device.set_health(::v1::HEALTHY);
  return response.SerializeAsString();
}

}  // namespace

ScriptedDriver::ScriptedDriver(Stage& stage, std::string name, bool with_health)
    : stage_(stage),
      name_(std::move(name)),
      endpoint_(stage.Path("kubelet/plugins/" + name_ + "/dra.sock")),
      with_health_(with_health),
      registration_(stage.loop()),
      service_(stage.loop()) {
  ServeRegistration();
  ServeClaims();
  if (with_health_) ServeHealth();
  std::filesystem::create_directories(stage.Path("kubelet/plugins/" + name_));
  std::filesystem::create_directories(stage.Path("kubelet/plugins_registry"));
  // The data socket first: who finds the other one dials it.
  data_server_ =
      net::Server::Start(stage.loop(), NullLog(), {.address = "unix:" + endpoint_}, service_)
          .value();
  const std::string socket = stage.Path("kubelet/plugins_registry/" + name_ + "-reg.sock");
  registration_server_ =
      net::Server::Start(stage.loop(), NullLog(), {.address = "unix:" + socket}, registration_)
          .value();
  Report();
}

ScriptedDriver::~ScriptedDriver() = default;

void ScriptedDriver::Hang(bool hang) { hangs_ = hang; }

void ScriptedDriver::EndStreams() {
  for (const auto& [id, writer] : std::exchange(streams_, {})) writer->Finish(OkStatus());
}

void ScriptedDriver::Report() {
  for (const auto& [id, writer] : streams_) {
    if (!hangs_) writer->Write(HealthReport());
  }
  timer_ = stage_.loop().After(kReportEvery, [this] { Report(); });
}

void ScriptedDriver::ServeRegistration() {
  registration_.AddUnary("/pluginregistration.Registration/GetInfo",
                         [this](std::string_view, const rpc::Caller&, const rpc::Reply& reply) {
                           registration::PluginInfo info;
                           info.set_type("DRAPlugin");
                           info.set_name(name_);
                           info.set_endpoint(endpoint_);
                           info.add_supported_versions("v1.DRAPlugin");
                           if (with_health_) {
                             info.add_supported_versions("v1.DRAResourceHealth");
                           }
                           reply(info.SerializeAsString());
                         });
  registration_.AddUnary("/pluginregistration.Registration/NotifyRegistrationStatus",
                         [](std::string_view, const rpc::Caller&, const rpc::Reply& reply) {
                           reply(registration::RegistrationStatusResponse().SerializeAsString());
                         });
}

void ScriptedDriver::ServeClaims() {
  const std::string service = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
  service_.AddUnary(service + "NodePrepareResources", [](std::string_view bytes, const rpc::Caller&,
                                                         const rpc::Reply& reply) {
    const auto request = rpc::Decode<dra::NodePrepareResourcesRequest>(bytes);
    dra::NodePrepareResourcesResponse response;
    for (const dra::Claim& claim : request->claims()) {
      dra::Device& device = *(*response.mutable_claims())[claim.uid()].add_devices();
      device.set_pool_name("node-7");
      device.set_device_name("gpu-0");
    }
    reply(response.SerializeAsString());
  });
  service_.AddUnary(service + "NodeUnprepareResources",
                    [](std::string_view bytes, const rpc::Caller&, const rpc::Reply& reply) {
                      const auto request = rpc::Decode<dra::NodeUnprepareResourcesRequest>(bytes);
                      dra::NodeUnprepareResourcesResponse response;
                      for (const dra::Claim& claim : request->claims()) {
                        (*response.mutable_claims())[claim.uid()];
                      }
                      reply(response.SerializeAsString());
                    });
}

void ScriptedDriver::ServeHealth() {
  service_.AddStream(
      "/v1.DRAResourceHealth/NodeWatchResources",
      [this](std::string_view, const rpc::Caller&, std::unique_ptr<rpc::StreamWriter> writer) {
        const int id = streams_opened_++;
        writer->OnGone([this, id] { streams_.erase(id); });
        if (!hangs_) writer->Write(HealthReport());
        streams_[id] = std::move(writer);
      });
}

}  // namespace galen::e2e
