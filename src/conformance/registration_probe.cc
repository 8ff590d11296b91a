// Tested by examination_test.cc, which plays every registration that can go wrong.
#include <filesystem>

#include "conformance/probes.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"

namespace galen::conformance {
namespace {

namespace wire = ::pluginregistration;

constexpr std::string_view kGetInfo = "/pluginregistration.Registration/GetInfo";
constexpr std::string_view kNotify = "/pluginregistration.Registration/NotifyRegistrationStatus";
// As the kubelet's (operation_generator.go).
constexpr Duration kInfoLimit = std::chrono::seconds(1);
constexpr Duration kNotifyLimit = std::chrono::seconds(5);
// Two kubelets (an old and a new one) and two observers at most ask at once.
constexpr int kCallsAtOnce = 4;
// How long a driver may take to serve again after a refusal, and how often it is asked.
constexpr Duration kAfterRefusal = std::chrono::seconds(5);
constexpr Duration kAskEvery = std::chrono::milliseconds(200);

InfoAnswer AnswerOf(const OpenCall& call) {
  InfoAnswer answer{.answer = call.Outcome(), .info = {}};
  if (!answer.answer.status.ok()) return answer;
  const StatusOr<wire::PluginInfo> info = rpc::Decode<wire::PluginInfo>(*call.bytes());
  if (!info.ok()) {
    answer.answer.status = info.status();
    return answer;
  }
  answer.info = {
      .type = info->type(),
      .name = info->name(),
      .endpoint = info->endpoint(),
      .versions = {info->supported_versions().begin(), info->supported_versions().end()}};
  return answer;
}

Answer Notify(const Edges& edges, const std::string& socket, bool registered,
              const std::string& error) {
  const Time start = edges.loop.Now();
  const auto link = Link::Open(edges, socket);
  if (!link.ok()) return {link.status(), edges.loop.Now() - start};
  wire::RegistrationStatus status;
  status.set_plugin_registered(registered);
  status.set_error(error);
  return (*link)->Call(kNotify, status.SerializeAsString(), kNotifyLimit)->Outcome();
}

std::string RealOr(const Edges& edges, const std::string& path) {
  const StatusOr<std::string> real = edges.real_path(path);
  return real.ok() ? *real : "";
}

}  // namespace

InfoAnswer AskInfo(const Edges& edges, const std::string& socket, std::string_view request) {
  const auto link = Link::Open(edges, socket);
  if (!link.ok()) return {{link.status(), {}}, {}};
  return AnswerOf(*(*link)->Call(kGetInfo, std::string(request), kInfoLimit));
}

void AskAgain(const Edges& edges, RegistrationSeen& seen) {
  seen.again = AskInfo(edges, seen.socket);
  seen.with_unknown_field = AskInfo(edges, seen.socket, kUnknownField);
  std::vector<std::unique_ptr<Link>> links;
  std::vector<std::unique_ptr<OpenCall>> calls;
  for (int i = 0; i < kCallsAtOnce; ++i) {
    StatusOr<std::unique_ptr<Link>> link = Link::Open(edges, seen.socket);
    if (!link.ok()) {
      seen.parallel.push_back({{link.status(), {}}, {}});
      continue;
    }
    links.push_back(std::move(*link));
  }
  for (const auto& link : links) calls.push_back(link->Start(kGetInfo, "", kInfoLimit));
  for (const auto& call : calls) {
    edges.waiter.WaitUntil([&] { return call->done(); }, 2 * kInfoLimit);
    seen.parallel.push_back(AnswerOf(*call));
  }
}

void LookAtEndpoint(const Edges& edges, RegistrationSeen& seen) {
  const std::string endpoint = EndpointOf(seen);
  if (!endpoint.starts_with('/')) return;
  seen.endpoint_connect = Link::Open(edges, endpoint).status();
  seen.real_directory =
      RealOr(edges, std::filesystem::path(endpoint).lexically_normal().parent_path().string());
  if (!seen.kubelet_root.empty()) seen.real_root = RealOr(edges, seen.kubelet_root);
}

Answer NotifyRegistered(const Edges& edges, const std::string& socket) {
  return Notify(edges, socket, true, "");
}

void NotifyRefused(const Edges& edges, RegistrationSeen& seen) {
  seen.notified_refused = Notify(edges, seen.socket, false,
                                 "galen conformance: how a driver takes a refusal; not a real one");
  const Time end = edges.loop.Now() + kAfterRefusal;
  while (true) {
    seen.after_refusal = AskInfo(edges, seen.socket);
    if (seen.after_refusal->answer.status.ok() || edges.waiter.interrupted()) return;
    if (edges.loop.Now() >= end) return;
    edges.waiter.WaitUntil([] { return false; }, kAskEvery);
  }
}

std::string EndpointOf(const RegistrationSeen& seen) {
  return seen.info.info.endpoint.empty() ? seen.socket : seen.info.info.endpoint;
}

}  // namespace galen::conformance
