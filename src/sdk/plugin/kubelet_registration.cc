#include "sdk/plugin/kubelet_registration.h"

#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "protos/deviceplugin/v1beta1/deviceplugin.pb.h"
#include "rpc/typed.h"

namespace galen::sdk {
namespace {

namespace device_api = ::v1beta1;

// Enough for a kubelet's sentence with its causes; it goes into a log line.
constexpr std::size_t kRefusalBytesMax = 512;

}  // namespace

KubeletRegistration::KubeletRegistration(Parts parts, Options options, PluginService& service)
    : parts_(parts), options_(std::move(options)), service_(service) {
  parts_.metrics.DeclareGauge("galen_driver_plugin_registered",
                              "1 while the kubelet reads the device plugin's list.");
  parts_.metrics.Set("galen_driver_plugin_registered", {}, 0);
  service_.OnKubelet([this](bool listens) { OnKubelet(listens); });
}

void KubeletRegistration::Start() {
  StatusOr<std::unique_ptr<net::PlaceWatch>> watch =
      parts_.sockets.Watch(ParentOf(options_.kubelet_socket), [this] { Look(); });
  if (watch.ok()) {
    watch_ = std::move(*watch);
  } else {
    parts_.log.Warning(
        "a directory cannot be watched; looking at it now and then",
        {{"directory", ParentOf(options_.kubelet_socket)}, {"error", watch.status().message()}});
  }
  LookNowAndThen();
}

void KubeletRegistration::Stop() {
  stopped_ = true;
  watch_.reset();
  timer_.Cancel();
  look_timer_.Cancel();
  end_timer_.Cancel();
  call_.reset();
  dialling_.reset();
  connection_.reset();
}

bool KubeletRegistration::registered() const {
  return service_.kubelet_listens() && asked_ == parts_.sockets.MarkOf(options_.kubelet_socket);
}

std::string KubeletRegistration::WhyNot() const {
  if (registered()) return "";
  if (!parts_.sockets.MarkOf(options_.kubelet_socket)) {
    return "there is no " + options_.kubelet_socket;
  }
  return trouble_.empty() ? "the kubelet has not taken the device plugin yet" : trouble_;
}

void KubeletRegistration::LookNowAndThen() {
  Look();
  look_timer_ = parts_.loop.After(kLookPeriod, [this] { LookNowAndThen(); });
}

// Every file event leads here, also for files of others such as the kubelet's checkpoint: only the
// present state counts.
void KubeletRegistration::Look() {
  if (stopped_ || asking_) return;
  const std::optional<std::string> mark = parts_.sockets.MarkOf(options_.kubelet_socket);
  if (!mark) return NoteTrouble("there is no " + options_.kubelet_socket);
  if (service_.kubelet_listens() && mark == asked_) return;
  if (mark != asked_) {
    // A new kubelet has not refused anything yet.
    backoff_.Reset();
    waiting_ = false;
    timer_.Cancel();
  }
  if (waiting_) return;
  asked_ = mark;
  Register();
}

void KubeletRegistration::LookAfter(Duration delay) {
  waiting_ = true;
  timer_ = parts_.loop.After(delay, [this] {
    waiting_ = false;
    Look();
  });
}

void KubeletRegistration::Register() {
  asking_ = true;
  net::DialOptions options;
  options.target = "unix:" + options_.kubelet_socket;
  dialling_ = parts_.dialer.Dial(
      std::move(options), [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
        if (!connection.ok()) return OnAnswer(connection.status());
        connection_ = std::move(*connection);
        device_api::RegisterRequest request;
        request.set_version("v1beta1");
        request.set_endpoint(options_.endpoint);
        request.set_resource_name(options_.resource);
        request.mutable_options()->set_pre_start_required(kPreStartRequired);
        request.mutable_options()->set_get_preferred_allocation_available(kPreferenceKnown);
        service_.AwaitKubelet(true);
        rpc::Channel channel(parts_.loop, *connection_);
        call_ = rpc::Unary<device_api::Empty>(
            channel, "/v1beta1.Registration/Register", request, kDeadline,
            [this](const StatusOr<device_api::Empty>& answer) { OnAnswer(answer.status()); });
      });
}

void KubeletRegistration::OnAnswer(const Status& status) {
  // In a later turn: this runs inside the call that is destroyed.
  end_timer_ = parts_.loop.After(Duration::zero(), [this] {
    call_.reset();
    dialling_.reset();
    connection_.reset();
    asking_ = false;
    // The kubelet may have been replaced meanwhile.
    Look();
  });
  if (status.ok()) {
    trouble_.clear();
    // A stream that opened since was handled by OnKubelet.
    if (!service_.kubelet_listens() && !waiting_) LookAfter(kStreamWithin);
    return;
  }
  service_.AwaitKubelet(false);
  LookAfter(backoff_.Next(parts_.random));
  NoteTrouble(Shown(status.message(), kRefusalBytesMax));
}

void KubeletRegistration::NoteTrouble(const std::string& trouble) {
  if (std::exchange(trouble_, trouble) == trouble) return;
  parts_.log.Warning("the device plugin cannot be registered; trying again",
                     {{"resource", options_.resource}, {"error", trouble}});
}

void KubeletRegistration::OnKubelet(bool listens) {
  parts_.metrics.Set("galen_driver_plugin_registered", {}, listens ? 1 : 0);
  if (listens) {
    listens_since_ = parts_.loop.Now();
    parts_.log.Info("the kubelet takes the devices of the device plugin",
                    {{"resource", options_.resource}});
    return;
  }
  if (stopped_) return;
  if (parts_.loop.Now() - listens_since_ >= kSettled) backoff_.Reset();
  parts_.log.Info("the kubelet reads the device plugin's list no more; registering again",
                  {{"resource", options_.resource}});
  LookAfter(backoff_.Next(parts_.random));
}

}  // namespace galen::sdk
