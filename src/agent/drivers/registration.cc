// Tested by plugin_manager_test.cc: what it does shows in what the manager receives.
#include "agent/drivers/registration.h"

#include <utility>

#include "base/text.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

constexpr std::string_view kGetInfo = "/pluginregistration.Registration/GetInfo";
constexpr std::string_view kNotify = "/pluginregistration.Registration/NotifyRegistrationStatus";

PluginAnswer FromProto(const pluginregistration::PluginInfo& info) {
  return {.type = info.type(),
          .name = info.name(),
          .endpoint = info.endpoint(),
          .versions = {info.supported_versions().begin(), info.supported_versions().end()}};
}

}  // namespace

Registration::Registration(Edges edges, Options options, OnFacts on_facts)
    : edges_(edges), options_(std::move(options)), on_facts_(std::move(on_facts)) {}

void Registration::Dial() {
  dialling_ = edges_.dialer.Dial(
      {.target = "unix:" + options_.socket, .tls = {}, .connect_timeout = kDialTimeout},
      [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
        if (!connection.ok()) return Then([this, s = connection.status()] { TryLater(s); });
        AskInfo(std::move(connection).value());
      });
}

void Registration::AskInfo(std::unique_ptr<net::Connection> connection) {
  session_.connection = std::move(connection);
  session_.channel = std::make_unique<rpc::Channel>(edges_.loop, *session_.connection);
  session_.call = rpc::Unary<pluginregistration::PluginInfo>(
      *session_.channel, kGetInfo, pluginregistration::InfoRequest(), kGetInfoTimeout,
      [this](StatusOr<pluginregistration::PluginInfo> info) {
        OnInfo(info.ok() ? StatusOr(FromProto(*info)) : info.status());
      });
}

void Registration::OnInfo(StatusOr<PluginAnswer> answer) {
  if (!answer.ok()) return Then([this, s = Annotate(answer.status(), "GetInfo")] { TryLater(s); });
  Then([this, answer = std::move(answer).value()] { Conclude(answer); });
}

void Registration::Conclude(const PluginAnswer& answer) {
  if (answer.type != (options_.rules.health_sources ? kHealthSourceType : kDraPluginType)) {
    // Another kind of plugin. Not a fault, so nothing is logged and nothing tried again. The code
    // marks it for Notify as concluded, but not taken in.
    return Notify(Unimplemented("no handler for plugin type {}", Shown(answer.type, 64)));
  }
  const StatusOr<PluginFacts> facts = JudgePlugin(answer, options_.socket, options_.rules);
  Notify(facts.ok() ? on_facts_(*facts) : facts.status());
}

void Registration::Notify(const Status& outcome) {
  const auto conclude = [this, outcome](const Status& notified) {
    if (outcome.code() == Code::kUnimplemented) return Rest();
    if (!outcome.ok()) return TryLater(outcome);
    // A driver that did not get the notification may wait for it; registering it again changes
    // nothing.
    if (!notified.ok()) return TryLater(Annotate(notified, "NotifyRegistrationStatus"));
    Rest();
  };
  // Beside a kubelet only the kubelet may notify the plugin: two answers would contradict each
  // other.
  if (!options_.notify) return conclude(OkStatus());
  pluginregistration::RegistrationStatus status;
  status.set_plugin_registered(outcome.ok());
  if (!outcome.ok()) status.set_error(outcome.message());
  session_.call = rpc::Unary<pluginregistration::RegistrationStatusResponse>(
      *session_.channel, kNotify, status, kNotifyTimeout,
      [this, conclude](StatusOr<pluginregistration::RegistrationStatusResponse> reply) {
        Then([conclude, notified = reply.status()] { conclude(notified); });
      });
}

void Registration::Rest() {
  session_.Close();
  backoff_.Reset();
  trouble_.clear();
}

void Registration::TryLater(const Status& why) {
  session_.Close();
  // The same refusal every two minutes is logged once.
  if (std::exchange(trouble_, why.message()) != why.message()) {
    edges_.log.Warning("plugin does not register",
                       {{"socket", options_.socket}, {"error", why.message()}});
  }
  timer_ = edges_.loop.After(backoff_.Next(edges_.random), [this] { Dial(); });
}

void Registration::Then(std::function<void()> next) {
  // There is never more than one next step, so one timer serves them all.
  timer_ = edges_.loop.After(Duration::zero(), std::move(next));
}

}  // namespace galen::agent
