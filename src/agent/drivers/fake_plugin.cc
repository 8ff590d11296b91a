#include "agent/drivers/fake_plugin.h"

#include <algorithm>
#include <utility>

#include "protos/dra/v1/dra.pb.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;
namespace registration = pluginregistration;

}  // namespace

std::string EncodeReport(const std::string& pool, const std::vector<FakeReport>& devices) {
  ::v1::NodeWatchResourcesResponse response;
  for (const FakeReport& report : devices) {
    ::v1::DeviceHealth& device = *response.add_devices();
    device.mutable_device()->set_pool_name(pool);
    device.mutable_device()->set_device_name(report.device);
    device.set_health(static_cast<::v1::HealthStatus>(report.health));
    device.set_health_check_timeout_seconds(report.timeout_seconds);
    device.set_message(report.message);
    const bool has_ids = !(report.serial + report.uuid + report.pci_address).empty();
    if (report.code.empty() && !has_ids && report.sign_unix_nanos == 0) continue;
    ::v1::Finding& finding = *device.mutable_galen();
    finding.set_code(report.code);
    finding.set_sign_unix_nanos(report.sign_unix_nanos);
    finding.set_degraded(report.degraded);
    finding.set_share(report.share);
    finding.set_serial(report.serial);
    finding.set_uuid(report.uuid);
    finding.set_pci_address(report.pci_address);
    finding.set_model(report.model);
    finding.set_sign(report.sign);
    finding.set_owner(report.owner);
  }
  return response.SerializeAsString();
}

struct FakePlugin::Methods {
  static void GetInfo(FakePlugin& self, rpc::Reply reply) {
    ++self.times_asked_;
    if (self.hang_get_info_) return self.hanging_.push_back(std::move(reply));
    registration::PluginInfo info;
    info.set_type(self.options_.type);
    info.set_name(self.options_.driver);
    info.set_endpoint(self.options_.endpoint);
    for (const std::string& version : self.options_.versions) info.add_supported_versions(version);
    reply(info.SerializeAsString());
  }

  static void Notify(FakePlugin& self, std::string_view bytes, const rpc::Reply& reply) {
    const auto status = rpc::Decode<registration::RegistrationStatus>(bytes);
    self.notified_ = status->plugin_registered() ? "registered" : status->error();
    reply(registration::RegistrationStatusResponse().SerializeAsString());
  }

  static void Prepare(FakePlugin& self, std::string_view bytes, const rpc::Reply& reply) {
    ++self.prepare_calls_;
    const auto request = rpc::Decode<dra::NodePrepareResourcesRequest>(bytes);
    dra::NodePrepareResourcesResponse response;
    for (const dra::Claim& claim : request->claims()) {
      if (self.leave_out_) continue;
      dra::NodePrepareResourceResponse& item = (*response.mutable_claims())[claim.uid()];
      item.set_error(self.prepare_error_);
      if (!self.prepare_error_.empty()) continue;
      self.prepared_[claim.uid()] = claim.name();
      for (const std::string& name : self.devices_of_({claim.namespace_(), claim.name()})) {
        dra::Device& device = *item.add_devices();
        device.set_pool_name(self.options_.pool);
        device.set_device_name(name);
        const auto share = self.shares_.find(claim.name());
        const bool shared = share != self.shares_.end();
        if (shared) device.set_share_id(share->second);
        device.add_cdi_device_ids(self.options_.driver + "/gpu=" + name +
                                  (shared ? "-" + share->second : ""));
      }
    }
    reply(response.SerializeAsString());
  }

  static void Unprepare(FakePlugin& self, std::string_view bytes, const rpc::Reply& reply) {
    const auto request = rpc::Decode<dra::NodeUnprepareResourcesRequest>(bytes);
    dra::NodeUnprepareResourcesResponse response;
    for (const dra::Claim& claim : request->claims()) {
      (*response.mutable_claims())[claim.uid()].set_error(self.unprepare_error_);
      if (self.unprepare_error_.empty()) self.prepared_.erase(claim.uid());
    }
    reply(response.SerializeAsString());
  }

  static void Watch(FakePlugin& self, std::unique_ptr<rpc::StreamWriter> writer) {
    if (self.stream_answer_) return writer->Finish(*self.stream_answer_);
    const int id = self.streams_opened_++;
    writer->OnGone([&self, id] { self.streams_.erase(id); });
    for (const std::string& part : self.first_) writer->Write(part);
    if (!self.report_.empty()) writer->Write(self.report_);
    if (self.one_message_) return writer->Finish(*self.one_message_);
    self.streams_[id] = std::move(writer);
  }
};

FakePlugin::FakePlugin(Loop& loop, net::FakeNetwork& network, FakeSocketDirectory& directory,
                       Options options)
    : network_(network),
      directory_(directory),
      options_(std::move(options)),
      registration_(loop),
      endpoint_(loop) {
  Serve();
}

FakePlugin::~FakePlugin() { Kill(); }

void FakePlugin::Serve() {
  using Caller = rpc::Caller;
  registration_.AddUnary("/pluginregistration.Registration/GetInfo",
                         [this](std::string_view, const Caller&, rpc::Reply reply) {
                           Methods::GetInfo(*this, std::move(reply));
                         });
  registration_.AddUnary("/pluginregistration.Registration/NotifyRegistrationStatus",
                         [this](std::string_view bytes, const Caller&, rpc::Reply reply) {
                           Methods::Notify(*this, bytes, reply);
                         });
  for (const std::string version : {"v1", "v1beta1"}) {
    const std::string service = "/k8s.io.kubelet.pkg.apis.dra." + version + ".DRAPlugin/";
    endpoint_.AddUnary(service + "NodePrepareResources",
                       [this](std::string_view bytes, const Caller&, rpc::Reply reply) {
                         Methods::Prepare(*this, bytes, reply);
                       });
    endpoint_.AddUnary(service + "NodeUnprepareResources",
                       [this](std::string_view bytes, const Caller&, rpc::Reply reply) {
                         Methods::Unprepare(*this, bytes, reply);
                       });
  }
  for (const std::string version : {"v1", "v1alpha1"}) {
    endpoint_.AddStream(
        "/" + version + ".DRAResourceHealth/NodeWatchResources",
        [this](std::string_view, const Caller&, std::unique_ptr<rpc::StreamWriter> writer) {
          Methods::Watch(*this, std::move(writer));
        });
  }
}

void FakePlugin::Start() {
  ListenAgain();
  directory_.Put(options_.socket);
}

void FakePlugin::ListenAgain() {
  network_.Listen("unix:" + options_.endpoint, endpoint_);
  network_.Listen("unix:" + options_.socket, registration_);
  listening_ = true;
}

void FakePlugin::Kill() {
  if (!std::exchange(listening_, false)) return;
  network_.StopListening("unix:" + options_.endpoint);
  network_.StopListening("unix:" + options_.socket);
  streams_.clear();
  hanging_.clear();
}

void FakePlugin::Stop() {
  Kill();
  directory_.Remove(options_.socket);
}

void FakePlugin::Report(const std::vector<FakeReport>& devices) {
  ReportBytes(EncodeReport(options_.pool, devices));
}

void FakePlugin::ReportBytes(std::string bytes) {
  report_ = std::move(bytes);
  for (const auto& [id, writer] : streams_) writer->Write(report_);
}

void FakePlugin::ReportFirst(const std::vector<std::vector<FakeReport>>& parts) {
  first_.clear();
  for (const auto& part : parts) first_.push_back(EncodeReport(options_.pool, part));
}

bool FakePlugin::all_sent() const {
  return std::ranges::all_of(streams_, [](const auto& item) { return item.second->drained(); });
}

void FakePlugin::EndStreams(const Status& status) {
  for (const auto& [id, writer] : std::exchange(streams_, {})) writer->Finish(status);
}

}  // namespace galen::agent
