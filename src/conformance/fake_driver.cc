#include "conformance/fake_driver.h"

#include <algorithm>

#include "kube/request.h"
#include "protos/dra/v1/dra.pb.h"
#include "protos/dra/v1beta1/dra.pb.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"
#include "rpc/wire_fields.h"

namespace galen::conformance {
namespace {

namespace wire = ::pluginregistration;

struct V1 {
  using PrepareRequest = ::k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourcesRequest;
  using PrepareResponse = ::k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourcesResponse;
  using UnprepareRequest = ::k8s::io::kubelet::pkg::apis::dra::v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = ::k8s::io::kubelet::pkg::apis::dra::v1::NodeUnprepareResourcesResponse;
};
struct V1Beta1 {
  using PrepareRequest = ::k8s::io::kubelet::pkg::apis::dra::v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = ::k8s::io::kubelet::pkg::apis::dra::v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest =
      ::k8s::io::kubelet::pkg::apis::dra::v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse =
      ::k8s::io::kubelet::pkg::apis::dra::v1beta1::NodeUnprepareResourcesResponse;
};

// The two operations' messages differ only in their types.
template <typename Entry>
void Write(const ClaimEntry& from, Entry& to) {
  to.set_error(from.error);
  if constexpr (requires { to.add_devices(); }) {
    for (const PreparedDeviceSeen& device : from.devices) {
      auto& one = *to.add_devices();
      for (const std::string& request : device.requests) one.add_request_names(request);
      one.set_pool_name(device.pool);
      one.set_device_name(device.device);
      for (const std::string& id : device.cdi_ids) one.add_cdi_device_ids(id);
    }
  }
}

// One length-delimited field: its tag, its length, its bytes.
std::string Field(char tag, const std::string& bytes) {
  std::string field(1, tag);
  std::size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) field += static_cast<char>((length & 0x7f) | 0x80);
  field += static_cast<char>(length);
  return field + bytes;
}

// Messages are put in by hand: the generated code complains of texts that are no UTF-8.
std::string Bytes(const std::vector<DeviceHealthSeen>& devices) {
  std::string report;
  for (const DeviceHealthSeen& device : devices) {
    v1::DeviceHealth one;
    one.mutable_device()->set_pool_name(device.pool);
    one.mutable_device()->set_device_name(device.device);
    one.set_health(static_cast<v1::HealthStatus>(device.health));
    one.set_last_updated_time(device.updated_unix_seconds);
    one.set_health_check_timeout_seconds(device.timeout_seconds);
    report += Field(0x0a, one.SerializeAsString() + Field(0x2a, device.message));
  }
  return report;
}

std::string Filled(std::string text, const std::string& uid, const std::string& device) {
  for (const auto& [mark, value] : {std::pair{"{uid}", uid}, std::pair{"{device}", device}}) {
    const std::size_t at = text.find(mark);
    if (at != std::string::npos) text.replace(at, std::string(mark).size(), value);
  }
  return text;
}

std::string DefaultCdi(const std::string& uid, const std::string& device) {
  return Filled(R"({"cdiVersion": "0.5.0", "kind": "gpu.example.com/claim", "devices": [
    {"name": "{uid}-{device}", "containerEdits": {"env": ["GPU=0"]}}]})",
                uid, device);
}

// Requests have one field: the claims.
bool HasUnknownField(std::string_view request) {
  rpc::WireFields fields(request);
  while (const auto field = fields.Next()) {
    if (field->number != 1) return true;
  }
  return false;
}

constexpr char kRefusal[] = "this driver takes no fields that it does not know";

}  // namespace

// One reader.
struct FakeDriver::Subscriber {
  std::string version;
  int number = 0;
  std::unique_ptr<rpc::StreamWriter> writer;
  Timer repeat;
  Timer end;
};

// The entries of one call's answer, until the last is there.
struct FakeDriver::Gathering {
  std::map<std::string, ClaimEntry> entries;
  Status failure;
  std::size_t waiting = 0;
  std::function<void(const Gathering&)> done;

  void Take(const std::string& uid, const StatusOr<ClaimEntry>& entry) {
    if (entry.ok()) {
      entries[uid] = *entry;
    } else {
      failure = entry.status();
    }
    if (--waiting == 0) done(*this);
  }
};

FakeDriver::FakeDriver(Loop& loop, FileSystem& files, kube::Client* api, Script script)
    : loop_(loop),
      files_(files),
      api_(api),
      script_(std::move(script)),
      registration_(loop),
      data_(loop) {
  registration_.AddUnary("/pluginregistration.Registration/GetInfo",
                         [this](std::string_view request, const rpc::Caller&, rpc::Reply reply) {
                           if (!request.empty() && script_.refuses_unknown_fields) {
                             return reply(InvalidArgument("{}", kRefusal));
                           }
                           std::optional<StatusOr<Info>> info = StatusOr<Info>(script_.info);
                           if (script_.on_get_info) info = script_.on_get_info(infos_++);
                           if (!info) return unanswered_.push_back(std::move(reply));
                           if (!info->ok()) return reply(info->status());
                           wire::PluginInfo message;
                           message.set_type((*info)->type);
                           message.set_name((*info)->name);
                           message.set_endpoint((*info)->endpoint);
                           for (const std::string& version : (*info)->versions) {
                             message.add_supported_versions(version);
                           }
                           reply(message.SerializeAsString());
                         });
  rpc::AddUnary<wire::RegistrationStatus, wire::RegistrationStatusResponse>(
      registration_, "/pluginregistration.Registration/NotifyRegistrationStatus",
      [this](const wire::RegistrationStatus& status, const rpc::Caller&,
             rpc::TypedReply<wire::RegistrationStatusResponse> reply) {
        notified_.push_back(status.plugin_registered());
        if (!script_.notified.ok()) return reply(script_.notified);
        reply(wire::RegistrationStatusResponse());
        if (!status.plugin_registered() && script_.ends_when_refused && on_end_) {
          loop_.Post([this] { on_end_(); });
        }
      });
  if (script_.dra_served.contains("v1")) AddDra<V1>("v1");
  if (script_.dra_served.contains("v1beta1")) AddDra<V1Beta1>("v1beta1");
  for (const std::string& version : script_.health_served) AddHealth(version);
}

FakeDriver::~FakeDriver() = default;

template <typename Version>
void FakeDriver::AddDra(const std::string& version) {
  const std::string service = "/k8s.io.kubelet.pkg.apis.dra." + version + ".DRAPlugin/";
  const auto add = [&](const std::string& method, auto request_type, auto response_type,
                       auto handle) {
    using Request = decltype(request_type);
    using Response = decltype(response_type);
    data_.AddUnary(service + method, [this, method, handle](std::string_view bytes,
                                                            const rpc::Caller&, rpc::Reply reply) {
      const StatusOr<Request> request = rpc::Decode<Request>(bytes);
      if (!request.ok()) return reply(request.status());
      if (script_.refuses_unknown_fields && HasUnknownField(bytes)) {
        return reply(InvalidArgument("{}", kRefusal));
      }
      if (script_.hangs_in_prepare && method == "NodePrepareResources") {
        return unanswered_.push_back(std::move(reply));
      }
      auto gathering = std::make_shared<Gathering>();
      gathering->waiting = static_cast<std::size_t>(request->claims_size()) + 1;
      // A std::function must be copyable.
      const auto owed = std::make_shared<rpc::Reply>(std::move(reply));
      gathering->done = [this, owed](const Gathering& all) {
        if (!all.failure.ok()) return (*owed)(all.failure);
        Response response;
        if (!script_.forgets_unasked_entries) {
          for (const auto& [uid, entry] : all.entries) {
            Write(entry, (*response.mutable_claims())[uid]);
          }
        }
        (*owed)(response.SerializeAsString());
      };
      for (const auto& claim : request->claims()) {
        handle(ClaimRef{claim.namespace_(), claim.name(), claim.uid()},
               [gathering, uid = claim.uid()](const StatusOr<ClaimEntry>& entry) {
                 gathering->Take(uid, entry);
               });
      }
      // A request without claims has nothing else to wait for.
      if (--gathering->waiting == 0) gathering->done(*gathering);
    });
  };
  using Done = std::function<void(StatusOr<ClaimEntry>)>;
  add("NodePrepareResources", typename Version::PrepareRequest(),
      typename Version::PrepareResponse(), [this, version](const ClaimRef& claim, Done done) {
        PrepareOne(version, claim, std::move(done));
      });
  add("NodeUnprepareResources", typename Version::UnprepareRequest(),
      typename Version::UnprepareResponse(),
      [this](const ClaimRef& claim, const Done& done) { done(UnprepareOne(claim)); });
}

void FakeDriver::AddHealth(const std::string& version) {
  data_.AddStream("/" + version + ".DRAResourceHealth/NodeWatchResources",
                  [this, version](std::string_view request, const rpc::Caller&,
                                  std::unique_ptr<rpc::StreamWriter> writer) {
                    if (!request.empty() && script_.refuses_unknown_fields) {
                      return writer->Finish(InvalidArgument("{}", kRefusal));
                    }
                    Subscribe(version, std::move(writer));
                  });
}

void FakeDriver::Subscribe(const std::string& version, std::unique_ptr<rpc::StreamWriter> writer) {
  if (subscribers_.size() >= script_.subscribers_max) {
    subscribers_.front()->writer->Finish(ResourceExhausted("another reader came"));
    subscribers_.pop_front();
  }
  auto owned = std::make_unique<Subscriber>();
  Subscriber& subscriber = *owned;
  subscriber.version = version;
  subscriber.number = streams_++;
  subscriber.writer = std::move(writer);
  subscribers_.push_back(std::move(owned));
  most_subscribers_ = std::max(most_subscribers_, static_cast<int>(subscribers_.size()));
  subscriber.writer->OnGone([this, &subscriber] {
    lost_one_ = true;
    Drop(&subscriber);
  });
  if (script_.first_report && !(script_.forgets_after_a_loss && lost_one_)) Report(subscriber);
  if (script_.ends_streams_after > Duration::zero()) {
    subscriber.end = loop_.After(script_.ends_streams_after, [this, &subscriber] {
      subscriber.writer->Finish(OkStatus());
      Drop(&subscriber);
    });
  }
}

void FakeDriver::Report(Subscriber& subscriber) {
  std::vector<DeviceHealthSeen> devices = script_.devices;
  if (script_.on_report) script_.on_report(subscriber.version, subscriber.number, devices);
  subscriber.writer->Write(Bytes(devices));
  if (script_.repeat_every == Duration::zero()) return;
  subscriber.repeat =
      loop_.After(script_.repeat_every, [this, &subscriber] { Report(subscriber); });
}

void FakeDriver::Drop(Subscriber* subscriber) {
  std::erase_if(subscribers_, [&](const auto& one) { return one.get() == subscriber; });
}

void FakeDriver::PrepareOne(const std::string& version, const ClaimRef& claim,
                            std::function<void(StatusOr<ClaimEntry>)> done) {
  if (api_ == nullptr) return done(Decide(version, claim, NotFound("no such claim")));
  calls_.push_back(api_->Do(kube::Get(kube::kResourceClaims, claim.ns, claim.name),
                            [this, version, claim, done](const StatusOr<Json>& object) {
                              done(Decide(version, claim, object));
                            }));
}

StatusOr<ClaimEntry> FakeDriver::Decide(const std::string& version, const ClaimRef& claim,
                                        const StatusOr<Json>& object) {
  ClaimEntry entry;
  if (!object.ok()) {
    if (!script_.knows_every_claim) entry.error = object.status().message();
  } else if (script_.checks_uid && (*object)["metadata"]["uid"].AsString() != claim.uid) {
    entry.error = "the claim was replaced";
  } else {
    const Json& results = (*object)["status"]["allocation"]["devices"]["results"];
    if (script_.checks_allocation && results.items().empty()) entry.error = "it is not allocated";
    for (const Json& result : results.items()) {
      const std::string& device = result["device"].AsString();
      entry.devices.push_back({.requests = {result["request"].AsString()},
                               .pool = result["pool"].AsString(),
                               .device = device,
                               .cdi_ids = {Filled(script_.cdi_id, claim.uid, device)},
                               .share_id = ""});
      const std::string text =
          script_.cdi_text ? script_.cdi_text(claim.uid, device) : DefaultCdi(claim.uid, device);
      const std::string path = "/cdi/gpu.example.com-" + claim.uid + ".json";
      if (!text.empty()) RETURN_IF_ERROR(files_.WriteAtomically(path, text));
    }
  }
  if (entry.error.empty()) prepared_.insert(claim.uid);
  const int number = prepares_[claim.uid]++;
  if (script_.on_prepare) RETURN_IF_ERROR(script_.on_prepare(version, number, entry));
  return entry;
}

StatusOr<ClaimEntry> FakeDriver::UnprepareOne(const ClaimRef& claim) {
  ClaimEntry entry;
  const int number = unprepares_[claim.uid]++;
  if (script_.on_unprepare) RETURN_IF_ERROR(script_.on_unprepare(number, entry));
  if (!entry.error.empty()) return entry;
  prepared_.erase(claim.uid);
  RETURN_IF_ERROR(files_.Remove("/cdi/gpu.example.com-" + claim.uid + ".json"));
  return entry;
}

}  // namespace galen::conformance
